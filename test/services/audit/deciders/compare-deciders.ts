/**
 * `node test/services/audit/compare-deciders.ts DIRECTORY [CASES] [SEED]`: the frozen deciders of DIRECTORY (as of an earlier
 * commit) beside those of this checkout, on arbitrary messages. Both have to keep and remove the same objects by the same rules
 * and facts, and to give the same orders and commands. What they may differ in is how a record writes its verdicts.
 */
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { z } from 'zod';
import { OBJECT_KINDS, ObjectKind } from '../../../../schemas/events/object-kinds.ts';
import { BUNDLE_DIRECTORY, type FrozenDecider } from '../../../../services/audit/deciders/deciders.ts';
import { ARBITRARY_CASES, type Unnamed } from './arbitrary-cases.ts';
import { questionOf } from './corpus.ts';

const [directory = '', cases = '100000', seed = '1'] = process.argv.slice(2);
const DECIDERS = ['pressure', 'container-gc', 'image-gc'] as const;
type Decides = Pick<FrozenDecider, 'read' | 'decide'>;

const load = (file: string | URL): Promise<Decides> => import(String(file));

/** Verdicts of one kind were a list of their own, by the names of the lists of an inventory. */
const Listed = z.record(z.string(), z.array(z.looseObject({ position: z.int() })));
const Record = z.looseObject({ type: z.literal('fleetgc.node.decision'), verdicts: z.unknown() });

function verdictsOf(verdicts: unknown): unknown {
  const lists = Listed.safeParse(verdicts).data;
  if (lists === undefined) return verdicts;
  return ObjectKind.options.flatMap((kind) =>
    (lists[OBJECT_KINDS[kind].list] ?? []).map((verdict) => ({ ...verdict, kind })),
  );
}

/** Without the hash of the record as it is written. */
function comparable(event: unknown): unknown {
  const record = Record.safeParse(event).data;
  if (record === undefined) return event;
  const { outputSha256: _, verdicts, ...rest } = record;
  return { ...rest, verdicts: verdictsOf(verdicts) };
}

const inKeyOrder = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    member !== null && typeof member === 'object' && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );

function answerOf({ read, decide }: Decides, given: Unnamed): string {
  const { message, position, policies } = questionOf({ name: 'compared', ...given });
  return inKeyOrder(decide(read(message), position, policies).map(({ event }) => comparable(event)));
}

for (const name of DECIDERS) {
  const before = await load(pathToFileURL(join(resolve(directory), `${name}-1.mjs`)));
  const now = await load(new URL(`${name}-1.mjs`, BUNDLE_DIRECTORY));
  let objects = 0;
  let commands = 0;
  const same = (given: Unnamed): void => {
    const [expected, found] = [answerOf(before, given), answerOf(now, given)];
    if (expected !== found) throw new Error(`${name} differs:\n  before ${expected}\n  now    ${found}`);
    objects += found.split('"position":').length - 1;
    commands += found.includes('"type":"fleetgc.node.command"') ? 1 : 0;
  };
  const arbitraries = ARBITRARY_CASES[name === 'pressure' ? 'diskStats' : 'inventory'];
  const numRuns = Math.ceil(Number(cases) / arbitraries.length);
  for (const arbitrary of arbitraries)
    fc.assert(fc.property(arbitrary, same), { numRuns, seed: Number(seed) });
  process.stdout.write(
    `${name}: ${numRuns * arbitraries.length} messages, ${objects} verdicts, ${commands} commands: no difference\n`,
  );
}
