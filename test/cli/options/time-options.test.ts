import { expect, test } from 'vitest';
import { z } from 'zod';
import { pointMs, rangeOptions, timeRange } from '../../../cli/options/time-options.ts';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { inventory } from '../../fixtures/inventory.ts';
import { HOUR, MINUTE, NOW } from '../../fixtures/time.ts';
import { timedLog } from '../../packages/audit/support/timed-log.ts';
import { outgoing } from '../../support/logs/log-record.ts';

const { signal } = new AbortController();
/** Of whoever gives times, and needs no record. */
const asking = (nowMs: number) => ({ log: { read: neverRead }, nowMs, signal });
const neverRead = () => {
  throw new Error('a time is no reason to read');
};

const Options = z.object(rangeOptions);
const read = (from: string) => Options.safeParse({ from }).data?.from;

test.each([
  { given: '2026-01-01', is: NOW },
  { given: '2026-01-01T00:01Z', is: NOW + MINUTE },
  { given: '2026-01-01T00:01:00.000Z', is: NOW + MINUTE },
  { given: '2026-01-01T02:00:00+01:00', is: NOW + HOUR },
  { given: '0', is: NOW + 24 * HOUR },
  { given: '90m', is: NOW + 22.5 * HOUR },
  { given: '1h30m', is: NOW + 22.5 * HOUR },
  { given: '1d', is: NOW },
  { given: '999999h', is: 0 },
])('$given is a time, a day after', async ({ given, is }) => {
  const point = read(given);
  expect(point && (await pointMs(point, asking(NOW + 24 * HOUR)))).toBe(is);
});

test.each([
  '-1h',
  '0d',
  '1w',
  '2026-13-01',
  '2026-02-30',
  '2026-01-01T00:01:00',
  '1.1.2026',
  '2026',
  'yesterday',
  '',
])('%s is none', (given) => {
  expect(read(given)).toBeUndefined();
});

test('without limits all is read, and a range that ends before it begins is an error', async () => {
  const range = (given: Parameters<typeof timeRange>[0]) => timeRange(given, asking(NOW));
  expect(await range({})).toEqual({ fromMs: null, toMs: null });
  const point = { kind: 'at', ms: NOW } as const;
  await expect(range({ from: point, to: point })).rejects.toThrow('nothing lies between');
  expect(await range({ from: { kind: 'ago', ms: 1 }, to: point })).toEqual({ fromMs: NOW - 1, toMs: NOW });
});

test.each([
  ['gc.inventory/3@1', 'names the topic gc.inventory; there are gc.node.disk-stats, gc.node.inventory'],
  ['gc.node.inventory/32@1', 'names partition 32 of gc.node.inventory, which has 0 to 31'],
  ['gc.policies/1@0', 'names partition 1 of gc.policies, which has 0 alone'],
  ['gc.node.inventory@1', 'must be a time'],
  ['gc.node.inventory/3@-1', 'must be a time'],
])('%s is no position: it %s', (given, says) => {
  expect(Options.safeParse({ from: given }).error?.issues[0]?.message).toContain(says);
});

/** Two records of a partition, a minute apart. */
async function twoRecords() {
  const { log, publishAt } = await timedLog();
  for (const minute of [0, 1])
    await publishAt(
      NOW + minute * MINUTE,
      outgoing(nodeOutput('inventory', inventory({ id: `i${minute}` }))),
    );
  const records = [];
  for await (const event of log.read({ topic: 'gc.node.inventory', from: 'earliest', to: 'end' }))
    if (event.kind === 'record') records.push(event.record);
  return { log, partition: records[0]?.partition ?? 0 };
}

test('a range begins and ends when the records at these positions were written', async () => {
  const { log, partition } = await twoRecords();
  const at = (offset: number) => read(`gc.node.inventory/${partition}@${offset}`);
  expect(await timeRange({ from: at(0), to: at(1) }, { log, nowMs: NOW, signal })).toEqual({
    fromMs: NOW,
    toMs: NOW + MINUTE,
  });
});

test.each([
  { name: 'after the end', offset: 2, elsewhere: 0, says: 'the partition ends before it' },
  { name: 'in an empty partition', offset: 0, elsewhere: 1, says: 'nothing lies in that partition' },
])('a position $name is told', async ({ offset, elsewhere, says }) => {
  const { log, partition } = await twoRecords();
  const point = read(`gc.node.inventory/${(partition + elsewhere) % 32}@${offset}`);
  await expect(timeRange({ to: point }, { log, nowMs: NOW, signal })).rejects.toMatchObject({
    code: 'NOT_FOUND',
    message: expect.stringContaining(says),
  });
});

test.each([
  { topic: 'gc.node.inventory', says: 'retention deleted it, or it never was there. The next is' },
  { topic: 'gc.policies', says: 'newer ones of its key took its place, or it never was there. The next is' },
] as const)('a position of $topic that was deleted is told, with the next', async ({ topic, says }) => {
  const next = { topic, partition: 0, offset: 7n, key: null, value: null, headers: {}, timestampMs: NOW };
  const log = {
    read: async function* () {
      yield { kind: 'record', record: next } as const;
    },
  };
  const asked = timeRange({ from: read(`${topic}/0@3`) }, { log, nowMs: NOW, signal });
  await expect(asked).rejects.toThrow(`there is no record ${topic}/0@3: ${says} ${topic}/0@7, of 2026-01-01`);
});
