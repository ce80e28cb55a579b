import { expect, test } from 'vitest';
import { drawHistory } from './draw-history.ts';
import { everWritten, FOREIGN_FINALIZER, type History, type PlayedObject, type Step } from './history.ts';
import { FAILING, OWNED_KIND_IDS, servedKind, UNKNOWN } from './kinds.ts';

const HISTORIES = Array.from({ length: 200 }, (_, index) => drawHistory(index + 1));
const objectsOf = ({ bursts }: History): readonly PlayedObject[] =>
  bursts.flat().flatMap((step) => (step.do === 'create' ? [step.object] : []));
const OBJECTS = HISTORIES.flatMap(objectsOf);
const REFERENCES = HISTORIES.flatMap((history) => [...everWritten(history).values()].flat());

test('a seed is one history', () => {
  for (const { seed } of HISTORIES.slice(0, 20)) expect(drawHistory(seed)).toEqual(HISTORIES[seed - 1]);
  expect(new Set(HISTORIES.map((history) => JSON.stringify(history.bursts))).size).toBe(HISTORIES.length);
});

test('graphs have 30 to 300 objects when they begin', () => {
  const sizes = HISTORIES.map(({ bursts }) => bursts[0]?.length ?? 0);
  expect(Math.min(...sizes)).toBeGreaterThanOrEqual(30);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(300);
  expect(sizes.filter((size) => size > 150).length).toBeGreaterThan(10);
});

/** Objects that a step is about, and those that it names. */
function needed(step: Step): readonly number[] {
  if (step.do === 'pass-a-second') return [];
  if (step.do !== 'create' && step.do !== 'refer') return [step.id];
  const [id, references] =
    step.do === 'create' ? [step.object.id, step.object.references] : [step.id, step.references];
  return [id, ...references.flatMap(({ nameOf, uidOf }) => [nameOf ?? [], uidOf ?? []].flat())];
}

test('what a step needs was made before it, or in the same burst', () => {
  const tooEarly = HISTORIES.flatMap(({ bursts }) => {
    const made = new Set<number>();
    return bursts.flatMap((burst) => {
      for (const step of burst) if (step.do === 'create') made.add(step.object.id);
      return burst.flatMap(needed).filter((id) => !made.has(id));
    });
  });
  expect(tooEarly).toEqual([]);
});

test('a new object names earlier ones alone, so that each can be made when its owners are', () => {
  const late = OBJECTS.filter((object) => {
    const [id, ...named] = needed({ do: 'create', object });
    return named.some((each) => each >= (id ?? 0));
  });
  expect(late).toEqual([]);
});

test('in a history that is not wild, no two deletions of a burst are of one object', () => {
  const twice = HISTORIES.filter(({ isWild }) => !isWild).flatMap(({ seed, bursts }) =>
    bursts.flatMap((burst) => {
      const ids = burst.flatMap((step) => (step.do === 'delete' ? [step.id] : []));
      return ids.length === new Set(ids).size ? [] : [seed];
    }),
  );
  expect(twice).toEqual([]);
});

test('everything comes: kinds, finalizers, ways to delete, what owners are said to be', () => {
  expect(new Set(OBJECTS.map(({ kind }) => kind))).toEqual(new Set(OWNED_KIND_IDS));
  for (const finalizer of [FOREIGN_FINALIZER, 'orphan', 'foregroundDeletion'])
    expect(OBJECTS.filter(({ finalizers }) => finalizers.includes(finalizer)).length).toBeGreaterThan(50);
  const steps = HISTORIES.flatMap(({ bursts }) => bursts.flat());
  const ways = new Set(steps.flatMap((step) => (step.do === 'delete' ? [step.propagation] : [])));
  expect(ways).toEqual(new Set(['Background', 'Foreground', 'Orphan', null]));
  for (const deed of ['refer', 'release'] as const)
    expect(steps.filter((step) => step.do === deed).length).toBeGreaterThan(100);
  expect(OBJECTS.filter(({ references }) => references.length > 2).length).toBeGreaterThan(100);
  expect(REFERENCES.filter(({ uidOf }) => uidOf === null).length).toBeGreaterThan(50);
  expect(REFERENCES.filter(({ nameOf }) => nameOf === null).length).toBeGreaterThan(50);
  for (const group of [UNKNOWN, FAILING])
    expect(REFERENCES.some(({ apiVersion }) => apiVersion.startsWith(group))).toBe(true);
  for (const flag of [true, false, undefined]) {
    expect(REFERENCES.some(({ controller }) => controller === flag)).toBe(true);
    expect(REFERENCES.some(({ blockOwnerDeletion }) => blockOwnerDeletion === flag)).toBe(true);
  }
});

test('owners come back to themselves: rings, and an object that owns itself', () => {
  const rings = HISTORIES.flatMap(({ bursts }) =>
    bursts
      .flat()
      .filter((step) => step.do === 'refer' && step.references.some(({ uidOf }) => (uidOf ?? 0) >= step.id)),
  );
  expect(rings.length).toBeGreaterThan(50);
  expect(
    rings.some((step) => step.do === 'refer' && step.references.some(({ uidOf }) => uidOf === step.id)),
  ).toBe(true);
});

test('one of ten seeds is wild', () => {
  expect(HISTORIES.filter(({ isWild }) => isWild).length).toBe(HISTORIES.length / 10);
});

test('one kind name in two groups is two kinds, and a version that is not preferred is served', () => {
  expect(servedKind('v1', 'ConfigMap')).not.toBe(servedKind('depot.compare.fleetgc.io/v1', 'ConfigMap'));
  expect(servedKind('shop.compare.fleetgc.io/v1beta1', 'Widget')).toBe(
    servedKind('shop.compare.fleetgc.io/v1', 'Widget'),
  );
  expect(servedKind('v2', 'ConfigMap')).toBeNull();
});
