import { expect, test } from 'vitest';
import { clusterOutput, nodeOutput, type Output } from '../../../packages/decision/handler.ts';
import { partitionOf } from '../../../packages/log/partition.ts';
import type { LogPosition, LogRecord, OutgoingRecord } from '../../../packages/log/port.ts';
import { MINUTE_MS } from '../../../packages/process/durations.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import {
  createAgentPublisher,
  judgeLatestFact,
  POSITION_EVERY_MS,
} from '../../../packages/records/latest-facts.ts';
import { type Signer, UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { census } from '../../fixtures/census.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { inventory } from '../../fixtures/inventory.ts';
import { latestNodeFact } from '../../fixtures/latest-fact.ts';
import { NOW } from '../../fixtures/time.ts';
import { countedIds, recordOf } from '../../support/logs/log-record.ts';

const LOG = 'gc.latest-facts';
const STATS = nodeOutput('diskStats', diskStats());

/** An agent's publisher on a log that dates records, and whose clock the test sets. */
function agent({ dated = true, signer = UNSIGNED }: { dated?: boolean; signer?: Signer } = {}) {
  const log: LogRecord[] = [];
  const clock = { nowMs: 0, isAway: false, refusals: 0 };
  const warned: string[] = [];
  const publish = async (records: readonly OutgoingRecord[]): Promise<readonly LogPosition[]> => {
    if (clock.isAway && records.some(({ topic }) => topic === LOG)) {
      clock.refusals += 1;
      throw new FleetGcError('LOG_UNREACHABLE', 'no broker');
    }
    return records.map((record) => {
      const partition = partitionOf(record.topic, record.key);
      const offset = BigInt(log.length);
      log.push({ ...record, partition, offset, timestampMs: NOW + clock.nowMs });
      return { partition, offset, timestampMs: dated ? NOW + clock.nowMs : null };
    });
  };
  const { publisher, latestFacts } = createAgentPublisher(
    { log: { publish }, source: '/fleetgc/test', now: () => NOW, ids: countedIds(), signer },
    {
      monotonicNow: () => clock.nowMs,
      logger: { warn: ({ problem }: { problem: string }) => void warned.push(problem) },
    },
  );
  const send = async (output: Output, atMs = clock.nowMs): Promise<void> => {
    clock.nowMs = atMs;
    await publisher.publish([output]);
    await new Promise((resolve) => setImmediate(resolve));
  };
  const positions = () => log.filter(({ topic }) => topic === LOG).map((record) => judgeLatestFact(record));
  const loggedAt = () => positions().map((each) => each.ok && each.latest.loggedAtMs - NOW);
  return { log, clock, warned, send, positions, loggedAt, latestFacts };
}

test('the position of a fact says where it lies, when it came and what its bytes are, and nothing of what it says', async () => {
  const { log, send, positions } = agent();
  await send(STATS);
  await send(nodeOutput('inventory', inventory()));
  await send(clusterOutput('clusterCensus', census()));
  const [stats, , , counted] = log;
  expect(log.map(({ topic }) => topic)).toEqual([
    'gc.node.disk-stats',
    LOG,
    'gc.node.inventory',
    'gc.cluster.census',
    LOG,
  ]);
  expect(positions()).toMatchObject([
    {
      ok: true,
      latest: {
        ...latestNodeFact(),
        id: expect.any(String),
        partition: stats?.partition,
        offset: '0',
        sha256: expect.any(String),
      },
    },
    {
      ok: true,
      latest: {
        fact: 'clusterCensus',
        offset: '3',
        partition: log[3]?.partition,
        loggedAtMs: log[3]?.timestampMs,
      },
    },
  ]);
  expect(counted?.partition).toBe(log[4]?.partition);
  expect(log[1]?.partition).toBe(stats?.partition);
});

test('the first is published, then one every five minutes, and the last before the end', async () => {
  const { send, loggedAt, latestFacts } = agent();
  for (let atMs = 0; atMs <= 12 * MINUTE_MS; atMs += MINUTE_MS) await send(STATS, atMs);
  expect(loggedAt()).toEqual([0, POSITION_EVERY_MS, 2 * POSITION_EVERY_MS]);
  await latestFacts.end();
  await latestFacts.end();
  expect(loggedAt()).toEqual([0, POSITION_EVERY_MS, 2 * POSITION_EVERY_MS, 12 * MINUTE_MS]);
});

test('a position that cannot be published fails no fact, and comes with the next one', async () => {
  const { clock, send, loggedAt } = agent();
  clock.isAway = true;
  await send(STATS, 0);
  expect(loggedAt()).toEqual([]);
  clock.isAway = false;
  await send(STATS, MINUTE_MS);
  expect(loggedAt()).toEqual([MINUTE_MS]);
});

test('while positions cannot be published, one is tried each minute, and each problem is logged once', async () => {
  const { clock, warned, send, loggedAt } = agent();
  clock.isAway = true;
  for (let atMs = 0; atMs < 3 * MINUTE_MS; atMs += 10_000) await send(STATS, atMs);
  expect([clock.refusals, warned]).toEqual([3, ['no broker']]);
  clock.isAway = false;
  await send(STATS, 3 * MINUTE_MS);
  clock.isAway = true;
  await send(STATS, 8 * MINUTE_MS);
  expect([loggedAt(), warned]).toEqual([[3 * MINUTE_MS], ['no broker', 'no broker']]);
});

test('a signer that throws for a position fails no fact that the log has', async () => {
  const sign: Signer['sign'] = (topic, record) => {
    if (topic === 'latestFacts') throw new FleetGcError('INTERNAL', 'no key');
    return record;
  };
  const { warned, send, log } = agent({ signer: { sign } });
  await send(STATS);
  expect([log.map(({ topic }) => topic), warned]).toEqual([['gc.node.disk-stats'], ['no key']]);
});

test('what waited for long is not published at the end, since it would count as put back', async () => {
  const { clock, send, loggedAt, latestFacts } = agent();
  await send(STATS, 0);
  await send(STATS, MINUTE_MS);
  clock.nowMs = 12 * MINUTE_MS;
  await latestFacts.end();
  expect(loggedAt()).toEqual([0]);
});

test('where the log does not say when it took a fact, nobody says where it lies', async () => {
  const { send, loggedAt } = agent({ dated: false });
  await send(STATS);
  expect(loggedAt()).toEqual([]);
});

const STANDS = { topic: 'latestFacts', key: 'diskStats prod/web-1', event: latestNodeFact() } as const;
const HOME = partitionOf(LOG, STANDS.key);
const home = latestNodeFact({ partition: HOME });
const on = (event: typeof home, over: Partial<LogRecord> = {}): LogRecord =>
  recordOf({ ...STANDS, event }, { partition: HOME, timestampMs: NOW, ...over });

test.each<{ name: string; record: LogRecord; why: string | null }>([
  { name: 'one that is right', record: on(home), why: null },
  { name: 'a tombstone', record: on(home, { value: null }), why: 'deleted' },
  {
    name: 'one that was put back',
    record: on(home, { timestampMs: NOW + 11 * MINUTE_MS }),
    why: 'put an old one back',
  },
  {
    name: 'one of the future',
    record: on(home, { timestampMs: NOW - 5 * MINUTE_MS }),
    why: 'clocks of two brokers differ',
  },
  { name: 'one on another partition', record: on(home, { partition: HOME + 1 }), why: 'another partition' },
  {
    name: 'one that names another partition',
    record: on(latestNodeFact({ partition: HOME + 1 })),
    why: 'another partition',
  },
  {
    name: 'one under the key of another node',
    record: on(home, { key: 'diskStats prod/web-9' }),
    why: 'key',
  },
  {
    name: 'one that says more',
    record: on(home, { value: Buffer.from(JSON.stringify({ ...home, isFull: true })) }),
    why: 'isFull',
  },
  { name: 'garbage', record: on(home, { value: Buffer.from('x') }), why: 'JSON' },
])('$name is judged by itself', ({ record, why }) => {
  const judged = judgeLatestFact(record);
  expect(judged.ok ? null : judged.why).toEqual(why === null ? null : expect.stringContaining(why));
});

test('position and fact lie in partitions of one number, whatever the fact', () => {
  for (const key of ['prod/web-1', 'edge/far-1', 'prod/db-7'])
    expect(partitionOf(LOG, `diskStats ${key}`)).toBe(partitionOf('gc.node.disk-stats', key));
  expect(partitionOf(LOG, 'clusterCensus prod')).toBe(partitionOf('gc.cluster.census', 'prod'));
});
