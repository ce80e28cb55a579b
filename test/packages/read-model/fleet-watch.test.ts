import { expect, test } from 'vitest';
import { clusterOutput, nodeOutput } from '../../../packages/decision/handler.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { ClusterWatch, NodeWatch } from '../../../packages/read-model/fleet-watch.ts';
import type { Bucket, DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { census } from '../../fixtures/census.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { filesystems } from '../../fixtures/filesystems.ts';
import { DAY, HOUR, instant, MINUTE, NOW, SECOND } from '../../fixtures/time.ts';
import { logLines } from '../../support/log-lines.ts';
import { recordOf } from '../../support/logs/log-record.ts';

const NO_POLICIES = policySet('node', [], []);

function watched(policies: () => PolicySet = () => NO_POLICIES) {
  const lines = logLines();
  const metrics = createMetrics();
  const watch = new NodeWatch({
    policies,
    metrics,
    logger: createLogger({ service: 'test', level: 'info' }, lines),
    now: () => clock.nowMs,
  });
  const clock = { nowMs: NOW };
  const state = {
    joined: true,
    problem: null as string | null,
    lag: new Map([['gc.node.disk-stats/0', 0]]),
    assigned: ['gc.node.disk-stats/0'],
  };
  watch.follow({ state: () => state });
  let offset = 0n;
  const hear = (afterMs: number, over: Partial<DiskStats> = {}, at = offset++): void => {
    const takenAt = instant({ wallTimeMs: NOW + afterMs, sinceBootMs: HOUR + afterMs });
    const event = diskStats({}, { takenAt, ...over });
    watch.received(
      event,
      recordOf(nodeOutput('diskStats', event), { offset: at, timestampMs: NOW + afterMs }),
    );
  };
  return {
    hear,
    clock,
    state,
    counted: async (name: 'nodes_heard' | 'nodes_silent') =>
      Number((await metrics.text()).match(new RegExp(`^fleetgc_${name} (\\d+)`, 'm'))?.[1]),
    warnings: () =>
      lines.lines.filter((line) => line.includes('"level":"warn"') || line.includes('"level":40')),
    lines: lines.lines,
    metric: async (kind: string) =>
      (await metrics.text()).match(new RegExp(`nodes_with_warnings\\{kind="${kind}"\\} (\\d+)`))?.[1],
  };
}

const ahead = (afterMs: number) => ({
  takenAt: instant({ wallTimeMs: NOW + afterMs + DAY, sinceBootMs: HOUR + afterMs }),
});

test('a clock that is a day ahead is warned of once and counted, again after an hour, and its end is told', async () => {
  const node = watched();
  for (let minute = 0; minute < 59; minute++) node.hear(minute * MINUTE, ahead(minute * MINUTE));
  expect(node.warnings()).toHaveLength(1);
  expect(node.warnings()[0]).toContain('prod/web-1: its clock is 24 hours ahead of that of the event log');
  expect(await node.metric('clock')).toBe('1');
  node.hear(60 * MINUTE, ahead(60 * MINUTE));
  expect(node.warnings()).toHaveLength(2);
  node.hear(62 * MINUTE);
  expect(node.lines.at(-1)).toContain('no longer so: clock prod/web-1');
  expect(await node.metric('clock')).toBe('0');
});

test('two machines under one name are warned of, and what comes again is no second machine', async () => {
  const other = '0d7a4e5a-7a61-4c3f-9a55-3d3c1f0e1b2c';
  const node = watched();
  node.hear(0, {}, 0n);
  node.hear(SECOND, { nodeInstance: other }, 1n);
  node.hear(0, {}, 0n);
  node.hear(2 * MINUTE, { nodeInstance: other }, 2n);
  expect(node.warnings()).toEqual([]);
  node.hear(3 * MINUTE, {}, 3n);
  expect(node.warnings()[0]).toContain('prod/web-1: 2 machines report under this name, in turns');
  expect(await node.metric('two-machines')).toBe('1');
});

test('a cluster that looks misspelt is warned of, also while policies cannot be read', async () => {
  const node = watched(() => {
    throw new Error('not read yet');
  });
  for (const name of ['a', 'b', 'c']) node.hear(0, { node: name });
  node.hear(MINUTE, { node: 'd', cluster: 'prdo' });
  expect(node.warnings()[0]).toContain('prdo: cluster prdo has 1 node, and no policy names it; prod has 3');
  expect(await node.metric('stray-cluster')).toBe('1');
});

test('of a whole fleet with one trouble a few nodes are named', () => {
  const node = watched();
  for (let index = 0; index < 20; index++) node.hear(0, { ...ahead(0), node: `web-${index}` });
  node.hear(MINUTE, ahead(MINUTE));
  expect(node.warnings()).toHaveLength(1 + 5 + 1);
  expect(node.warnings().at(-1)).toContain('and 14 more like it');
});

test('of names that are made up no more are watched than a fleet has, and those known before still are', async () => {
  const node = watched();
  node.hear(0);
  for (let count = 0; count < 60_000; count++) node.hear(SECOND, { node: `made-up-${count}`, ...ahead(0) });
  node.hear(2 * MINUTE, ahead(2 * MINUTE));
  expect(await node.metric('clock')).toBe('50000');
  node.hear(4 * MINUTE);
  expect(await node.metric('clock')).toBe('49999');
});

test('a node that was heard and is not any more is counted as silent for a day, and then no more', async () => {
  const fleet = watched();
  for (const node of ['a', 'b']) fleet.hear(0, { node });
  fleet.hear(4 * MINUTE, { node: 'b' });
  fleet.clock.nowMs = NOW + 6 * MINUTE;
  expect([await fleet.counted('nodes_heard'), await fleet.counted('nodes_silent')]).toEqual([1, 1]);
  fleet.clock.nowMs = NOW + DAY + MINUTE;
  expect([await fleet.counted('nodes_heard'), await fleet.counted('nodes_silent')]).toEqual([0, 1]);
});

test('while messages wait, or the event log does not answer, nobody is called silent by our clock', async () => {
  const fleet = watched();
  fleet.hear(0);
  fleet.clock.nowMs = NOW + HOUR;
  expect(await fleet.counted('nodes_silent')).toBe(1);
  fleet.state.lag.set('gc.node.disk-stats/0', 7);
  expect(await fleet.counted('nodes_silent')).toBe(0);
  fleet.state.lag.set('gc.node.disk-stats/0', 0);
  fleet.state.problem = 'no broker answers';
  expect(await fleet.counted('nodes_silent')).toBe(0);
});

test('nodes of partitions that went to another replica are for that one to tell of', async () => {
  const fleet = watched();
  fleet.hear(0);
  fleet.state.assigned = [];
  fleet.clock.nowMs = NOW + HOUR;
  expect([await fleet.counted('nodes_heard'), await fleet.counted('nodes_silent')]).toEqual([0, 0]);
});

test('of a node that is silent for more than an hour nobody is warned', async () => {
  const fleet = watched();
  fleet.hear(0, { ...ahead(0), node: 'a' });
  fleet.hear(MINUTE, { node: 'b' });
  expect(await fleet.metric('clock')).toBe('1');
  fleet.hear(62 * MINUTE, { node: 'b' });
  expect(await fleet.metric('clock')).toBe('0');
});

test('a disk that stays above a threshold is counted and told, until its target is reached', async () => {
  const policy = appliedPolicy({ imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 70 });
  const { hear, metric, warnings } = watched(() => policySet('node', [policy], []));
  const full = (afterMs: number, available: string): Partial<DiskStats> => {
    const nowMs = HOUR + afterMs;
    const buckets = Array.from(
      { length: 20 },
      (_, index): Bucket => [nowMs - (20 - index) * MINUTE, '10', '10', '10'],
    );
    const none = { availableBytes: [], inodesFree: [] };
    return {
      filesystems: filesystems({ availableBytes: available }),
      history: { nodefs: none, containerfs: none, imagefs: { availableBytes: buckets, inodesFree: [] } },
    };
  };
  hear(0, full(0, '10'));
  expect(await metric('above-threshold')).toBe('1');
  expect(warnings()[0]).toContain('has not reached the target since');
  hear(MINUTE, full(MINUTE, '500'));
  expect(await metric('above-threshold')).toBe('0');
});

const PLACE = 'gc.cluster.census/0';

function watchedClusters() {
  const metrics = createMetrics();
  const clock = { nowMs: NOW };
  const watch = new ClusterWatch({ metrics, now: () => clock.nowMs });
  const state = {
    joined: true,
    problem: null as string | null,
    lag: new Map([[PLACE, 0]]),
    assigned: [PLACE],
  };
  watch.follow({ state: () => state });
  let offset = 0n;
  const hear = (cluster: string, afterMs: number, at = offset++): void => {
    const event = { ...census(), cluster };
    const record = recordOf(clusterOutput('clusterCensus', event));
    watch.received(event, { ...record, offset: at, timestampMs: NOW + afterMs });
  };
  const counts = async () => {
    const text = await metrics.text();
    return ['heard', 'silent'].map((name) =>
      Number(new RegExp(`^fleetgc_clusters_${name} (\\d+)`, 'm').exec(text)?.[1]),
    );
  };
  return { hear, clock, state, counts };
}

test('a cluster that was heard and is not any more is silent after 20 minutes, and forgotten after a day', async () => {
  const { hear, clock, counts } = watchedClusters();
  hear('a', 0);
  hear('b', 0);
  expect(await counts()).toEqual([2, 0]);
  clock.nowMs = NOW + 20 * MINUTE;
  expect(await counts()).toEqual([2, 0]);
  clock.nowMs += 1;
  expect(await counts()).toEqual([0, 2]);
  hear('b', 21 * MINUTE);
  expect(await counts()).toEqual([1, 1]);
  clock.nowMs = NOW + 25 * HOUR;
  expect(await counts()).toEqual([0, 0]);
});

test('while messages wait or the log is away, its newest message says how late it is', async () => {
  const { hear, clock, state, counts } = watchedClusters();
  hear('a', 0);
  clock.nowMs = NOW + HOUR;
  state.lag = new Map([[PLACE, 3]]);
  expect(await counts()).toEqual([1, 0]);
  hear('b', 30 * MINUTE);
  expect(await counts()).toEqual([1, 1]);
  state.lag = new Map([[PLACE, 0]]);
  state.problem = 'no broker answers';
  expect(await counts()).toEqual([1, 1]);
});

test('a census that comes again tells nothing new, and other partitions are for other replicas', async () => {
  const { hear, clock, state, counts } = watchedClusters();
  hear('a', 0, 7n);
  hear('a', 0, 7n);
  clock.nowMs = NOW + HOUR;
  expect(await counts()).toEqual([0, 1]);
  state.assigned = [];
  expect(await counts()).toEqual([0, 0]);
});
