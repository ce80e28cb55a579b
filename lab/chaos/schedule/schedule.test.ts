import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { ClusterFault } from '../cluster/faults/fault.ts';
import { Fault } from '../faults/fault.ts';
import { readSchedule } from './read-schedule.ts';
import { drawForCluster, drawForNodes, drawSchedule, Schedule, SUBJECTS } from './schedule.ts';
import { shrink } from './shrink.ts';

const SEEDS = Array.from({ length: 300 }, (_, index) => index);

test('a seed always gives the same schedule, and a schedule survives being written down', () => {
  for (const subject of SUBJECTS)
    for (const seed of SEEDS) {
      const schedule = drawSchedule(seed, subject);
      expect(drawSchedule(seed, subject)).toEqual(schedule);
      expect(Schedule.parse(JSON.parse(JSON.stringify(schedule)))).toEqual(schedule);
    }
});

test('every fault comes up, in order, and ends within the schedule', () => {
  const [nodes, clusters] = SUBJECTS.map((subject) => SEEDS.map((seed) => drawSchedule(seed, subject)));
  if (nodes === undefined || clusters === undefined) throw new Error('rounds are about both');
  const kindsIn = (schedules: readonly Schedule[]) =>
    new Set<string>(schedules.flatMap(({ faults }) => faults.map(({ kind }) => kind)));
  expect(kindsIn(nodes)).toEqual(new Set(Fault.options.map(({ shape }) => shape.kind.value)));
  expect(kindsIn(clusters)).toEqual(new Set(ClusterFault.options.map(({ shape }) => shape.kind.value)));
  for (const { faults, lastsMs } of [...nodes, ...clusters]) {
    const times = faults.map(({ atMs }) => atMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    for (const { atMs, forMs } of faults) expect(atMs + forMs).toBeLessThanOrEqual(lastsMs);
  }
});

test('half of the schedules of each subject slow everything down by a factor of 20, from the beginning to the end', () => {
  for (const subject of SUBJECTS) {
    const schedules: readonly Schedule[] = SEEDS.map((seed) => drawSchedule(seed, subject));
    const slow = schedules.filter(({ faults }) => faults.some(({ kind }) => kind === 'slow'));
    expect(slow.length).toBeGreaterThan(SEEDS.length * 0.4);
    expect(slow.length).toBeLessThan(SEEDS.length * 0.6);
    for (const { faults, lastsMs } of slow)
      expect(faults[0]).toEqual({ kind: 'slow', atMs: 0, forMs: lastsMs, factor: 20 });
  }
});

test('a violation shrinks to the faults that it needs', async () => {
  const whole = drawForNodes(4);
  const needed = whole.faults.filter((_, index) => index === 1 || index === whole.faults.length - 1);
  const shows = async ({ faults }: typeof whole) => needed.every((fault) => faults.includes(fault));
  expect((await shrink(whole, shows)).faults).toEqual(needed);
});

test('a violation that needs no fault shrinks to one, and one that needs all to itself', async () => {
  const whole = drawForNodes(5);
  expect((await shrink(whole, async () => true)).faults).toHaveLength(1);
  expect(await shrink(whole, async () => false)).toEqual(whole);
});

test('a schedule is read from a file, and what is none is told in a sentence', () => {
  const path = join(temporaryDirectory(), 'round.json');
  expect(() => readSchedule(path)).toThrow(`${path} cannot be read`);
  writeFileSync(path, '{');
  expect(() => readSchedule(path)).toThrow(`${path} is no JSON`);
  writeFileSync(path, '{"seed":1}');
  expect(() => readSchedule(path)).toThrow(`${path} is no schedule`);
  const schedule = drawForCluster(1);
  writeFileSync(path, JSON.stringify(schedule));
  expect(readSchedule(path)).toEqual(schedule);
});
