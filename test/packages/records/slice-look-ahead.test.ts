import { describe, expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { lookAhead } from '../../../packages/records/look-ahead.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import type { CompleteInventory, Inventory } from '../../../schemas/events/inventory.ts';
import { OBJECTS_OF_A_NODE } from '../../../schemas/events/value-bounds.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { image, incompleteInventory, inventory } from '../../fixtures/inventory.ts';
import { observe } from '../../fixtures/observe.ts';
import { reclaim } from '../../fixtures/reclaim.ts';
import { HOUR, instant, MINUTE } from '../../fixtures/time.ts';
import { recordOf } from '../../support/logs/log-record.ts';

/** The inventory `i<n>` of a node, n minutes after the first, as it lies at offset n. */
function look(number: number, over: Partial<CompleteInventory> = {}, record: Partial<LogRecord> = {}) {
  return onLog({ ...inventory({ images: [image('a')] }), ...numbered(number), ...over }, number, record);
}

const numbered = (number: number) => ({
  id: `i${number}`,
  takenAt: instant({ sinceBootMs: 24 * HOUR + number * MINUTE }),
});

const onLog = (event: Inventory, number: number, record: Partial<LogRecord> = {}): LogRecord =>
  recordOf(nodeOutput('inventory', event), { partition: 3, offset: BigInt(number), ...record });

/** What each record is: `read`, `rejected`, or the offset of the newer one. */
function seenIn(records: readonly LogRecord[]): readonly string[] {
  const see = lookAhead(records, parseRecord);
  return records.map((record) => {
    const seen = see(record);
    if (seen.kind === 'read') return seen.parsed.ok ? 'read' : 'rejected';
    expect(seen.overtakenBy).toEqual({
      topic: 'gc.node.inventory',
      partition: 3,
      offset: seen.overtakenBy.offset,
      id: `i${seen.overtakenBy.offset}`,
    });
    return seen.overtakenBy.offset;
  });
}

const other = { node: 'web-2' };
const rewritten = (record: LogRecord, rewrite: (text: string) => string): LogRecord => ({
  ...record,
  value: Buffer.from(rewrite(String(record.value))),
});
/** Its beginning is good, and its list is none. */
const badList = (record: LogRecord) =>
  rewritten(record, (text) => text.replace('"images":[', '"images":["x",'));

describe('a slice', () => {
  test.each<{ name: string; records: readonly LogRecord[]; seen: readonly string[] }>([
    { name: 'nothing', records: [], seen: [] },
    { name: 'one inventory', records: [look(1)], seen: ['read'] },
    { name: 'three of a node', records: [look(1), look(2), look(3)], seen: ['3', '3', 'read'] },
    {
      name: 'two nodes by turns',
      records: [look(1), look(2, other), look(3), look(4, other)],
      seen: ['3', '4', 'read', 'read'],
    },
    {
      name: 'one that answers an order between others: it is decided on, and overtakes none',
      records: [look(1), look(2, { reclaim: reclaim() }), look(3)],
      seen: ['3', 'read', 'read'],
    },
    {
      name: 'one that answers an order at the end: the newest of the others is decided on too',
      records: [look(1), look(2), look(3, { reclaim: reclaim() })],
      seen: ['2', 'read', 'read'],
    },
    {
      name: 'an incomplete one at the end: the last complete one is decided on too',
      records: [look(1), look(2), onLog({ ...incompleteInventory, ...numbered(3) }, 3)],
      seen: ['2', 'read', 'read'],
    },
    {
      name: 'an old message that was put back: it overtakes nothing, and is not overtaken by what lies before it',
      records: [look(1), look(2), look(3, { takenAt: instant({ sinceBootMs: 1 }) })],
      seen: ['2', 'read', 'read'],
    },
    { name: 'one message twice', records: [look(1), look(1, {}, { offset: 2n })], seen: ['read', 'read'] },
    {
      name: 'an installation after another',
      records: [look(1), look(2), look(3, { nodeInstance: '3d3c1f0e-7a61-4c3f-9a55-0d7a4e5a1b2d' })],
      seen: ['2', 'read', 'read'],
    },
  ])('$name', ({ records, seen }) => {
    expect(seenIn(records)).toEqual(seen);
  });
});

describe('nothing is overtaken', () => {
  test.each<{ name: string; last: LogRecord }>([
    { name: 'garbage', last: { ...look(3), value: Buffer.from('garbage') } },
    { name: 'a tombstone', last: { ...look(3), value: null } },
    { name: 'too large', last: { ...look(3), value: Buffer.alloc(OBJECTS_OF_A_NODE.bytes + 1) } },
    {
      name: 'of a version that nobody knows',
      last: rewritten(look(3), (text) => text.replace('"version":1', '"version":2')),
    },
    { name: 'wrong in its lists', last: badList(look(3)) },
    { name: 'cut off', last: rewritten(look(3), (text) => text.slice(0, -1)) },
    { name: 'at odds with its headers', last: look(3, {}, { headers: { ...look(3).headers, ce_id: 'i4' } }) },
    { name: 'about another node than its key says', last: look(3, other, { key: 'prod/web-1' }) },
    {
      name: 'another event',
      last: { ...look(3), ...recordOf(nodeOutput('diskStats', diskStats())), topic: 'gc.node.inventory' },
    },
  ])('by what is $name', ({ last }) => {
    expect(seenIn([look(1), last])).toEqual(['read', 'rejected']);
    expect(seenIn([look(1), look(2), last])).toEqual(['2', 'read', 'rejected']);
  });
});

describe('what lies before a newer inventory', () => {
  test.each<{ name: string; first: LogRecord; seen: string }>([
    {
      name: 'is a dead letter when it is garbage',
      first: { ...look(1), value: Buffer.from('{') },
      seen: 'rejected',
    },
    { name: 'is a dead letter when it is a tombstone', first: { ...look(1), value: null }, seen: 'rejected' },
    {
      name: 'is a dead letter when its headers say something else',
      first: look(1, {}, { headers: { ...look(1).headers, ce_id: 'i4' } }),
      seen: 'rejected',
    },
    {
      name: 'is passed over however many labels its node has',
      first: look(1, { nodeLabels: { long: 'x'.repeat(20_000) } }),
      seen: '2',
    },
    {
      name: 'is read whole when what is asked for lies behind its lists',
      first: rewritten(
        look(1, { images: Array.from({ length: 200 }, (_, n) => image(`image-${n}`)) }),
        (text) => {
          const { reclaim: none, ...rest } = JSON.parse(text);
          return JSON.stringify({ ...rest, reclaim: none });
        },
      ),
      seen: 'read',
    },
    { name: 'is not looked at beyond its beginning', first: badList(look(1)), seen: '2' },
  ])('$name', ({ first, seen }) => {
    expect(seenIn([first, look(2)])).toEqual([seen, 'read']);
  });
});

test('disk statistics that are more than a minute old by then are passed over too', () => {
  const records = [0, 1, 2, 3].map((minute) =>
    recordOf(nodeOutput('diskStats', { ...diskStats(), ...numbered(minute) }), { offset: BigInt(minute) }),
  );
  const see = lookAhead(records, parseRecord);
  expect(
    records.map((record) => see(record)).map((seen) => (seen.kind === 'read' ? 'read' : seen.overtakenBy)),
  ).toEqual([
    { topic: 'gc.node.disk-stats', partition: 0, offset: '3', id: 'i3' },
    { topic: 'gc.node.disk-stats', partition: 0, offset: '3', id: 'i3' },
    'read',
    'read',
  ]);
});

test('records of other topics are each read', () => {
  const records = [1, 2].map((minute) =>
    recordOf(nodeOutput('observe', observe(numbered(minute))), { offset: BigInt(minute) }),
  );
  expect(seenIn(records)).toEqual(['read', 'read']);
});
