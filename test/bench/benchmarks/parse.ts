import { readFileSync } from 'node:fs';
import { zstdCompressSync } from 'node:zlib';
import { Ajv } from 'ajv';
import { z } from 'zod';
import { parseValue } from '../../../packages/records/parse/parse-record.ts';
import { CompleteInventory } from '../../../schemas/events/inventory.ts';
import { GENERATED_DIRECTORY } from '../../../schemas/write.ts';
import { say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { fullNode } from '../inventories.ts';
import { spreadOf } from '../statistics.ts';

const NODES = 16;
const ROUNDS = 30;
const WARM_UP_ROUNDS = 10;
const TIMES_OF_ROUND = 100;

type Row = Readonly<Record<string, unknown>>;
/** One list of values for each member, in place of one object for each row. */
type Columns = Readonly<Record<string, readonly unknown[]>>;

/** One way to get an inventory out of bytes. */
interface Way {
  readonly name: string;
  readonly bytes: readonly Buffer[];
  readonly read: (bytes: Buffer) => unknown;
}

const LISTS = ['images', 'containers'] as const;
const ColumnarInventory = z.looseObject({
  images: z.record(z.string(), z.array(z.unknown())),
  containers: z.record(z.string(), z.array(z.unknown())),
});
/** What deciding on images reads of an inventory, of which the rest is taken as it is. */
const ImageFacts = CompleteInventory.pick({
  images: true,
  filesystems: true,
  reclaim: true,
  takenAt: true,
}).loose();

/** Ways to read an inventory, each beside `JSON.parse` of the same bytes alone, in one process and in turns. */
export function benchParse(): Findings {
  const nodes = Array.from({ length: NODES }, (_, index) =>
    fullNode(`node-${index}`, { images: 200, containers: 30 }),
  );
  const rows = nodes.map((node) => Buffer.from(JSON.stringify(node)));
  const columns = nodes.map((node) =>
    Buffer.from(
      JSON.stringify({ ...node, images: columnsOf(node.images), containers: columnsOf(node.containers) }),
    ),
  );
  const isValid = compiledValidator();
  const ways: readonly Way[] = [
    { name: 'parsed and checked as consumers do (zod)', bytes: rows, read: checked },
    { name: 'checked by a compiled validator (Ajv)', bytes: rows, read: (bytes) => isValid(parsed(bytes)) },
    {
      name: 'checked in part, what image-gc reads (zod)',
      bytes: rows,
      read: (bytes) => ImageFacts.parse(parsed(bytes)),
    },
    { name: 'columns, not checked', bytes: columns, read: parsed },
    {
      name: 'columns made into rows, not checked',
      bytes: columns,
      read: (bytes) => withRows(ColumnarInventory.parse(parsed(bytes))),
    },
    {
      name: 'columns made into rows and checked (zod)',
      bytes: columns,
      read: (bytes) => CompleteInventory.parse(withRows(ColumnarInventory.parse(parsed(bytes)))),
    },
  ];
  return {
    figures: ways.map((way) => figureOf(way, rows)),
    notes: [
      'Processor time of reading an inventory of 200 images and 30 containers out of its bytes; the baseline is JSON.parse of the usual form.',
      `As rows ${sizes(rows)}; as columns ${sizes(columns)} (zstd at the level of the producer).`,
    ],
  };
}

const parsed = (bytes: Buffer): unknown => JSON.parse(bytes.toString('utf8'));

function checked(bytes: Buffer): unknown {
  const found = parseValue('inventory', parsed(bytes));
  if (!found.ok) throw new Error(found.rejection.message);
  return found.event;
}

function compiledValidator(): (value: unknown) => boolean {
  const ajv = new Ajv({ strict: true, allowUnionTypes: true, formats: { uuid: true } });
  const schema = readFileSync(new URL('fleetgc.node.inventory.v1.schema.json', GENERATED_DIRECTORY), 'utf8');
  const validate = ajv.compile(JSON.parse(schema));
  return (value) => {
    if (!validate(value)) throw new Error(ajv.errorsText(validate.errors));
    return true;
  };
}

const columnsOf = (rows: readonly Row[]): Columns =>
  Object.fromEntries(Object.keys(rows[0] ?? {}).map((name) => [name, rows.map((row) => row[name])]));

function withRows(columnar: z.infer<typeof ColumnarInventory>): Row {
  const lists = LISTS.map((list): [string, readonly Row[]] => [list, rowsOf(columnar[list])]);
  return { ...columnar, ...Object.fromEntries(lists) };
}

function rowsOf(columns: Columns): readonly Row[] {
  const entries = Object.entries(columns);
  return (entries[0]?.[1] ?? []).map((_, at) => {
    const row: Record<string, unknown> = {};
    for (const [name, values] of entries) row[name] = values[at];
    return row;
  });
}

function figureOf({ name, bytes, read }: Way, rows: readonly Buffer[]): Figure {
  say(name);
  const rounds = Array.from({ length: WARM_UP_ROUNDS + ROUNDS }, () => ({
    way: microsecondsOf(read, bytes),
    alone: microsecondsOf(parsed, rows),
  })).slice(WARM_UP_ROUNDS);
  return {
    benchmark: 'parse',
    name: `an inventory: ${name}`,
    unit: 'µs',
    value: spreadOf(rounds.map(({ way }) => way)),
    baseline: spreadOf(rounds.map(({ alone }) => alone)),
    baselineName: 'JSON.parse',
    samples: ROUNDS * TIMES_OF_ROUND,
    aim: null,
  };
}

/** Of one, on average. */
function microsecondsOf(read: (bytes: Buffer) => unknown, of: readonly Buffer[]): number {
  const before = process.cpuUsage();
  for (let time = 0; time < TIMES_OF_ROUND; time += 1) read(of[time % of.length] ?? Buffer.alloc(0));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / TIMES_OF_ROUND;
}

function sizes(all: readonly Buffer[]): string {
  const average = (values: readonly number[]): number =>
    Math.round(values.reduce((sum, value) => sum + value, 0) / values.length / 1000);
  const plain = average(all.map(({ length }) => length));
  return `${plain} kB of JSON, ${average(all.map((one) => zstdCompressSync(one).length))} kB compressed`;
}
