import { describe, expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { scanAhead } from '../../../packages/records/look-ahead.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import type { CompleteInventory, Inventory } from '../../../schemas/events/inventory.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { image, incompleteInventory, inventory } from '../../fixtures/inventory.ts';
import { observe } from '../../fixtures/observe.ts';
import { reclaim } from '../../fixtures/reclaim.ts';
import { HOUR, instant, MINUTE } from '../../fixtures/time.ts';
import { recordOf } from '../../support/logs/log-record.ts';
import { readableLog } from '../../support/logs/readable-log.ts';

const at = (number: number) => ({
  id: `m${number}`,
  takenAt: instant({ sinceBootMs: 24 * HOUR + number * MINUTE }),
});
const onLog = (event: Inventory, number: number): LogRecord =>
  recordOf(nodeOutput('inventory', event), { offset: BigInt(number) });
const look = (number: number, over: Partial<CompleteInventory> = {}): LogRecord =>
  onLog({ ...inventory(), ...at(number), ...over }, number);
/** Readings of so many nodes, in turns. */
const readings = (records: number, nodes: number): readonly LogRecord[] =>
  Array.from({ length: records }, (_, number) =>
    recordOf(nodeOutput('diskStats', { ...diskStats(), ...at(number), node: `n${number % nodes}` }), {
      offset: BigInt(number),
    }),
  );

/** What is found of a backlog: offsets by key, and the parts that were read for it. */
async function scan(records: readonly LogRecord[], signal = new AbortController().signal) {
  const { log, readings: parts } = readableLog(records);
  const topic = records[0]?.topic ?? 'gc.node.inventory';
  const backlog = { topic, partition: 0, from: 0n, end: BigInt(records.length) };
  const found = await scanAhead(
    backlog,
    { parse: parseRecord, log, yieldToEventLoop: async () => undefined },
    signal,
  );
  return { found: new Map([...found].map(([key, { reference }]) => [key, Number(reference.offset)])), parts };
}

describe('as much of the end of a backlog is read as it takes to see its nodes', () => {
  test.each([
    { name: 'often there', nodes: 8, parts: ['496-512'] },
    { name: 'there twice in an eighth of it', nodes: 30, parts: ['496-512', '480-496', '448-480'] },
    { name: 'there twice', nodes: 256, parts: ['496-512', '480-496', '448-480', '384-448'] },
    { name: 'there once', nodes: 512, parts: ['496-512', '480-496', '448-480', '384-448'] },
  ])('$name', async ({ nodes, parts }) => {
    const seen = await scan(readings(512, nodes));
    expect(seen.parts).toEqual(parts);
    const newest = Math.min(nodes, 128);
    expect(seen.found.size).toBe(newest);
    for (const offset of seen.found.values()) expect(offset).toBeGreaterThanOrEqual(512 - newest);
  });
});

test('no more nodes are remembered than a partition may take', async () => {
  const { found } = await scan(readings(10_000, 10_000));
  expect(found.size).toBe(2048);
});

describe('of a node is found', () => {
  const filler = Array.from({ length: 124 }, (_, number) => look(number));
  test.each<{ name: string; tail: readonly LogRecord[]; found: number | undefined }>([
    { name: 'the newest', tail: [look(124), look(125), look(126), look(127)], found: 127 },
    {
      name: 'the newest that is complete',
      tail: [look(124), look(125), look(126), onLog({ ...incompleteInventory, ...at(127) }, 127)],
      found: 126,
    },
    {
      name: 'the newest that answers no order',
      tail: [look(124), look(125), look(126), look(127, { reclaim: reclaim() })],
      found: 126,
    },
    {
      name: 'the newest that parses as a whole',
      tail: [
        look(124),
        look(125),
        look(126),
        { ...look(127), value: look(127).value?.subarray(0, -1) ?? null },
      ],
      found: 126,
    },
    {
      name: 'what was taken last, and not what was put back behind it',
      tail: [look(124), look(125), look(126), look(127, { takenAt: at(3).takenAt })],
      found: 126,
    },
    {
      name: 'what a new installation says',
      tail: [
        look(124),
        look(125),
        look(126),
        look(127, { nodeInstance: '3d3c1f0e-7a61-4c3f-9a55-0d7a4e5a1b2d' }),
      ],
      found: 127,
    },
    {
      name: 'nothing of what belongs to no node',
      tail: [124, 125, 126, 127].map((number) => ({ ...look(number), key: null })),
      found: undefined,
    },
  ])('$name', async ({ tail, found }) => {
    const seen = await scan([...filler.slice(0, 124), ...tail]);
    expect(seen.found.get('prod/web-1')).toBe(found);
  });

  test('nothing but its head: what it takes does not grow with its lists', async () => {
    const images = Array.from({ length: 500 }, (_, number) => image(`image-${number}`));
    const { log } = readableLog([look(0, { images })]);
    const backlog = { topic: 'gc.node.inventory', partition: 0, from: 0n, end: 1n } as const;
    const one = await scanAhead(
      { ...backlog, from: -31n },
      { parse: parseRecord, log, yieldToEventLoop: async () => undefined },
      new AbortController().signal,
    );
    expect(JSON.stringify([...one.values()]).length).toBeLessThan(1000);
  });
});

test('records of other topics tell nothing', async () => {
  const records = Array.from({ length: 64 }, (_, number) =>
    recordOf(nodeOutput('observe', observe(at(number))), { offset: BigInt(number) }),
  );
  expect((await scan(records)).found.size).toBe(0);
});

test('a stop ends it', async () => {
  await expect(scan(readings(512, 512), AbortSignal.abort())).rejects.toMatchObject({ code: 'INTERRUPTED' });
});
