import { describe, expect, test } from 'vitest';
import {
  anomaliesOf,
  type NodeTrack,
  type Sighting,
  strayClusters,
  track,
} from '../../../packages/read-model/node-track.ts';
import { DAY, HOUR, instant, MINUTE, NOW, SECOND } from '../../fixtures/time.ts';

/** Heard so long after `NOW` by the log's clock. */
const heard = (
  afterMs: number,
  over: Partial<Sighting['takenAt']> & { instance?: string } = {},
): Sighting => {
  const { instance = 'first', ...takenAt } = over;
  return {
    nodeInstance: instance,
    takenAt: instant({ wallTimeMs: NOW + afterMs, sinceBootMs: HOUR + afterMs, ...takenAt }),
    loggedAtMs: NOW + afterMs,
  };
};

function anomalies(...sightings: readonly Sighting[]) {
  const tracked = sightings.reduce<NodeTrack | null>(track, null);
  return tracked === null ? [] : anomaliesOf(tracked, tracked.last.loggedAtMs);
}

describe('a clock', () => {
  test.each([
    { name: 'that agrees', aheadMs: 0, told: [] },
    { name: 'a little ahead', aheadMs: 4 * MINUTE, told: [] },
    { name: 'a day ahead', aheadMs: DAY, told: [{ kind: 'clock', aheadMs: DAY }] },
  ])('$name shows in one fact', ({ aheadMs, told }) => {
    expect(anomalies(heard(0, { wallTimeMs: NOW + aheadMs }))).toEqual(told);
  });

  const behind = (afterMs: number) => heard(afterMs, { wallTimeMs: NOW + afterMs - HOUR });

  test('that is behind shows in facts that came one by one', () => {
    expect(anomalies(behind(0), behind(MINUTE))).toEqual([{ kind: 'clock', aheadMs: -HOUR }]);
  });

  test('facts that waited for a broker say nothing of it', () => {
    const waited = (index: number): Sighting => ({
      ...heard(index * MINUTE),
      loggedAtMs: NOW + HOUR + index,
    });
    expect(anomalies(...Array.from({ length: 30 }, (_, index) => waited(index)))).toEqual([]);
  });

  test('that was behind stays so while facts wait, and is well again once it agrees', () => {
    const late = { ...behind(2 * MINUTE), loggedAtMs: NOW + MINUTE + SECOND };
    expect(anomalies(behind(0), behind(MINUTE), late)).toHaveLength(1);
    expect(anomalies(behind(0), behind(MINUTE), late, heard(3 * MINUTE))).toEqual([]);
  });
});

describe('two machines with one name', () => {
  const second = (afterMs: number) => heard(afterMs, { instance: 'second', bootId: 'other' });

  test('take turns', () => {
    expect(anomalies(heard(0), second(SECOND), heard(MINUTE))).toEqual([
      { kind: 'two-machines', machines: 2 },
    ]);
  });

  test('a copy of a machine has its installation, and another boot', () => {
    const copy = (afterMs: number) => heard(afterMs, { bootId: 'other' });
    expect(anomalies(heard(0), copy(SECOND), heard(MINUTE))).toHaveLength(1);
  });

  test('a reinstalled node and one that booted again are one machine after another', () => {
    expect(anomalies(heard(0), heard(SECOND), second(MINUTE), second(2 * MINUTE))).toEqual([]);
    expect(anomalies(heard(0), heard(MINUTE, { bootId: 'next' }))).toEqual([]);
  });

  test('are told until one of them was silent for half an hour', () => {
    const alone = Array.from({ length: 31 }, (_, index) => heard((index + 2) * MINUTE));
    expect(anomalies(heard(0), second(SECOND), heard(MINUTE), ...alone.slice(0, 29))).toHaveLength(1);
    expect(anomalies(heard(0), second(SECOND), heard(MINUTE), ...alone)).toEqual([]);
  });

  test('are remembered up to a few, however many are made up', () => {
    const made = Array.from({ length: 100 }, (_, index) => heard(index, { instance: `made-up-${index}` }));
    const tracked = [
      heard(0),
      ...made,
      second(SECOND),
      heard(2 * SECOND),
      second(3 * SECOND),
    ].reduce<NodeTrack | null>(track, null);
    expect(tracked?.machines.size).toBe(8);
    expect(tracked && anomaliesOf(tracked, NOW + MINUTE)).toEqual([{ kind: 'two-machines', machines: 8 }]);
  });
});

const strays = (nodes: Readonly<Record<string, number>>, named: readonly string[] = []) =>
  strayClusters(new Map(Object.entries(nodes)), new Set(named)).map(
    ({ cluster, like }) => `${cluster} like ${like}`,
  );

test.each([
  { name: 'a letter too few', nodes: { prod: 40, prd: 1 }, told: ['prd like prod'] },
  { name: 'another letter', nodes: { prod: 40, prog: 2 }, told: ['prog like prod'] },
  {
    name: 'letters that changed places',
    nodes: { production: 3, prodcution: 1 },
    told: ['prodcution like production'],
  },
  { name: 'another case', nodes: { prod: 40, PROD: 1 }, told: ['PROD like prod'] },
  { name: 'numbers are meant', nodes: { 'prod-1': 40, 'prod-2': 1 }, told: [] },
  { name: 'another word', nodes: { prod: 40, test: 1 }, told: [] },
  { name: 'two slips', nodes: { 'eu-west': 40, 'us-west': 1 }, told: ['us-west like eu-west'].slice(1) },
  { name: 'many nodes are meant', nodes: { prod: 40, prog: 3 }, told: [] },
  { name: 'few are like it', nodes: { prod: 2, prog: 1 }, told: [] },
  { name: 'names of two letters', nodes: { eu: 40, us: 1 }, told: [] },
])('$name: $told', ({ nodes, told }) => {
  expect(strays(nodes)).toEqual(told);
});

test('a cluster that a policy names is meant', () => {
  expect(strays({ prod: 40, prog: 1 }, ['prog'])).toEqual([]);
});

test('names that are made up by the ten thousand end nothing, and the largest clusters are still compared', () => {
  const names = (prefix: string, nodes: number) =>
    Array.from({ length: 20_000 }, (_, index) => [`${prefix}-${index.toString(36)}-cluster`, nodes] as const);
  const nodes = new Map([
    ['prog', 1] as const,
    ...names('large', 3),
    ...names('small', 1),
    ['prod', 40] as const,
  ]);
  expect(strayClusters(nodes, new Set()).map(({ cluster, like }) => [cluster, like])).toContainEqual([
    'prog',
    'prod',
  ]);
});
