import { describe, expect, test } from 'vitest';
import {
  anomaliesOf,
  type NodeTrack,
  type Sighting,
  track,
} from '../../../packages/fleet-watch/node-track.ts';
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
