import { describe, expect, test } from 'vitest';
import { drawEndedPods, THRESHOLD } from './draw-ended-pods.ts';
import { drawJobs } from './draw-jobs.ts';
import { drawPods } from './draw-pods.ts';
import { drawRequests } from './draw-requests.ts';
import { type History, PHASES, type PlayedObject, type Step, stepsOf } from './history.ts';

const DRAWS = { drawPods, drawEndedPods, drawJobs, drawRequests };
const seeds = (draw: (seed: number) => History) => Array.from({ length: 100 }, (_, index) => draw(index + 1));

const idOf = (step: Step): number | null => {
  if (step.do === 'pass-a-second') return null;
  return step.do === 'create' ? step.object.id : step.id;
};
const objectsOf = (history: History): readonly PlayedObject[] =>
  stepsOf(history).flatMap((step) => (step.do === 'create' ? [step.object] : []));

describe.each(Object.entries(DRAWS))('%s', (_, draw) => {
  const histories = seeds(draw);

  test('a seed is one history', () => {
    for (const { seed } of histories.slice(0, 10)) expect(draw(seed)).toEqual(histories[seed - 1]);
    expect(new Set(histories.map((history) => JSON.stringify(stepsOf(history)))).size).toBe(histories.length);
  });

  test('an object is made once, and nothing is done to it before', () => {
    for (const history of histories) {
      const made = new Set<number>();
      for (const step of stepsOf(history)) {
        const id = idOf(step);
        if (id === null) continue;
        expect(made.has(id)).toBe(step.do !== 'create');
        made.add(id);
      }
    }
  });

  test('what is done to one object in a burst follows from one step of it', () => {
    for (const { bursts } of histories)
      for (const burst of bursts) {
        const ids = burst.flatMap((step) => idOf(step) ?? []);
        expect(new Set(ids).size).toBe(ids.length);
      }
  });
});

test('pods come in all phases, on nodes in all states, on nodes that never were, and on none', () => {
  const objects = seeds(drawPods).flatMap(objectsOf);
  const pods = objects.filter(({ kind }) => kind === 'pod');
  const nodeIds = new Set(objects.filter(({ kind }) => kind === 'node').map(({ id }) => id));
  const phases = new Set(pods.flatMap(({ status }) => (status?.of === 'pod' ? [status.phase] : [])));
  expect(phases).toEqual(new Set(PHASES.filter((phase) => phase !== '')));
  const bound = pods.map(({ spec }) => (spec?.of === 'pod' ? spec.nodeId : null));
  expect(bound.filter((id) => id === null).length).toBeGreaterThan(100);
  expect(bound.filter((id) => id !== null && !nodeIds.has(id)).length).toBeGreaterThan(100);
  for (const deed of ['delete', 'replace', 'tell', 'ask', 'release'] as const)
    expect(
      seeds(drawPods)
        .flatMap(stepsOf)
        .filter((step) => step.do === deed).length,
    ).toBeGreaterThan(20);
});

test('in a burst nothing is done to a pod whose node is touched, but in wild seeds', () => {
  for (const history of seeds(drawPods).filter(({ isWild }) => !isWild)) {
    const objects = new Map(objectsOf(history).map((object) => [object.id, object]));
    for (const burst of history.bursts) {
      const touched = new Set(burst.flatMap((step) => idOf(step) ?? []));
      for (const id of touched) {
        const spec = objects.get(id)?.spec;
        if (spec?.of === 'pod') expect(touched.has(spec.nodeId)).toBe(false);
      }
    }
  }
});

test('pods of one second are made in the order of their names, and more end than may stay', () => {
  for (const history of seeds(drawEndedPods)) {
    expect(history.isOrdered).toBe(true);
    let last = '';
    for (const step of stepsOf(history)) {
      if (step.do === 'pass-a-second') last = '';
      if (step.do !== 'create' || step.object.kind !== 'pod') continue;
      const name = `o${step.object.id}`;
      expect(name > last).toBe(true);
      last = name;
    }
  }
  const ended = seeds(drawEndedPods).map(
    (history) =>
      objectsOf(history).filter(
        ({ status }) => status?.of === 'pod' && !['Pending', 'Running', 'Unknown'].includes(status.phase),
      ).length,
  );
  expect(ended.filter((count) => count > THRESHOLD).length).toBeGreaterThanOrEqual(90);
});

test('Jobs end in both ways and at all times, with every TTL, and TTLs change', () => {
  const objects = seeds(drawJobs).flatMap(objectsOf);
  const ttls = new Set(objects.map(({ spec }) => (spec?.of === 'job' ? spec.ttlSeconds : undefined)));
  expect(ttls).toEqual(new Set([0, 1, 4, 20, 3_600, 2_147_483_647, null]));
  const ends = new Set(objects.flatMap(({ status }) => (status?.of === 'job' ? [status.ended] : [])));
  expect(ends).toEqual(new Set(['Complete', 'Failed']));
  expect(objects.filter(({ status }) => status === undefined).length).toBeGreaterThan(500);
  expect(
    seeds(drawJobs)
      .flatMap(stepsOf)
      .filter((step) => step.do === 'ask').length,
  ).toBeGreaterThan(200);
});

test('certificate requests are answered in every way, with every certificate', () => {
  const objects = seeds(drawRequests).flatMap(objectsOf);
  const statuses = objects.flatMap(({ status }) => (status?.of === 'certificateRequest' ? [status] : []));
  expect(new Set(statuses.flatMap(({ answers }) => answers.map(({ type }) => type)))).toEqual(
    new Set(['Approved', 'Denied', 'Failed', 'Other']),
  );
  expect(new Set(statuses.map(({ certificate }) => certificate)).size).toBe(6);
  for (const { answers } of statuses)
    expect(answers.filter(({ type }) => type === 'Approved' || type === 'Denied').length).toBeLessThan(2);
});
