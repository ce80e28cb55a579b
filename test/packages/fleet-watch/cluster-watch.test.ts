import { expect, test } from 'vitest';
import { clusterOutput } from '../../../packages/decision/handler.ts';
import { ClusterWatch } from '../../../packages/fleet-watch/cluster-watch.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { census } from '../../fixtures/census.ts';
import { HOUR, MINUTE, NOW } from '../../fixtures/time.ts';
import { recordOf } from '../../support/logs/log-record.ts';

const PLACE = 'gc.cluster.census/0';

function watched() {
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
  const { hear, clock, counts } = watched();
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
  const { hear, clock, state, counts } = watched();
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
  const { hear, clock, state, counts } = watched();
  hear('a', 0, 7n);
  hear('a', 0, 7n);
  clock.nowMs = NOW + HOUR;
  expect(await counts()).toEqual([0, 1]);
  state.assigned = [];
  expect(await counts()).toEqual([0, 0]);
});
