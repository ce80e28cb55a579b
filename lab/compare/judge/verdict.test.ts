import { expect, test } from 'vitest';
import type { Ended } from '../phase.ts';
import { groupedByUid, type ObjectState } from './state.ts';
import { judged, type SeedEndings } from './verdict.ts';

const SEED = { seed: 7, isWild: false, bursts: [] };
const object = (id: number, over: Partial<ObjectState> = {}): ObjectState => ({
  id,
  kind: 'configMap',
  place: 'home',
  isDeleting: false,
  finalizers: [],
  references: [],
  ...over,
});
const ended = (side: string, ...objects: readonly ObjectState[]): Ended => ({
  seed: 7,
  side,
  state: new Map(objects.map((each) => [each.id, each])),
  stalledAt: [],
});
const NONE = ended('none', object(1), object(2), object(3));
const judgedOf = (over: Partial<SeedEndings>) =>
  judged(SEED, {
    kcm: [ended('kcm-1', object(1)), ended('kcm-2', object(1)), ended('kcm-3', object(1))],
    fleetgc: [ended('fleetgc-1', object(1))],
    none: NONE,
    ...over,
  });

test('what ends alike is equal, in whatever order it is listed', () => {
  const kcm = [ended('kcm-1', object(1), object(2)), ended('kcm-2', object(2), object(1))];
  const equal = judgedOf({ kcm, fleetgc: [ended('fleetgc-1', object(2), object(1))] });
  expect(equal).toMatchObject({ verdict: 'equal', isEffective: true, isOneOfKcms: true, differences: [] });
});

test.each<[string, ObjectState, string]>([
  ['an object', object(2), 'o2: kcm-1 is gone; fleetgc-1 configMap home'],
  [
    'a finalizer',
    object(1, { finalizers: ['orphan'] }),
    'o1: kcm-1 configMap home; fleetgc-1 configMap home, finalizers orphan',
  ],
  [
    'a deletion',
    object(1, { isDeleting: true }),
    'o1: kcm-1 configMap home; fleetgc-1 configMap home, being deleted',
  ],
])('%s more is a difference', (_, more, text) => {
  const fleetgc = [ended('fleetgc-1', ...new Map([object(1), more].map((each) => [each.id, each])).values())];
  expect(judgedOf({ fleetgc })).toMatchObject({
    verdict: 'different',
    differences: [{ text }],
    isOneOfKcms: false,
  });
});

test('a reference that says false is another than one that says nothing', () => {
  const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o2', uidOf: 2, controller: null };
  const says = (blockOwnerDeletion: boolean | null) =>
    object(1, { references: [{ ...reference, blockOwnerDeletion }] });
  const fleetgc = [ended('fleetgc-1', says(null))];
  expect(judgedOf({ kcm: [ended('kcm-1', says(false))], fleetgc }).verdict).toBe('different');
});

test('[cluster D11] the order of references counts, but for an owner that is listed twice', () => {
  const to = (uidOf: number | null, controller: boolean | null = null) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: `o${uidOf}`,
    uidOf,
    controller,
    blockOwnerDeletion: null,
  });
  expect(groupedByUid([to(1), to(2), to(1, true), to(null), to(3)])).toEqual([
    to(1),
    to(1, true),
    to(2),
    to(null),
    to(3),
  ]);
  expect(groupedByUid([to(null), to(1), to(null, true)])).toEqual([to(null), to(1), to(null, true)]);
  expect(groupedByUid([to(2), to(1)])).toEqual([to(2), to(1)]);
});

test('one of our runs that differs is enough', () => {
  const fleetgc = [ended('fleetgc-1', object(1)), ended('fleetgc-2', object(2))];
  expect(judgedOf({ fleetgc })).toMatchObject({ verdict: 'different', isOneOfKcms: false });
});

test('what is meant to end differently has to, in all of these objects and in no other', () => {
  const verdictFor = (ids: readonly number[]) =>
    judged(
      { ...SEED, listed: { rule: 'C17', ids } },
      { kcm: [ended('kcm-1', object(1), object(2))], fleetgc: [ended('fleetgc-1', object(1))], none: NONE },
    ).verdict;
  expect([verdictFor([2]), verdictFor([1, 2]), verdictFor([1])]).toEqual([
    'listed',
    'different',
    'different',
  ]);
});

test('where it is known why a seed ends differently, no other object may', () => {
  const verdictFor = (ids: readonly number[]) =>
    judged(
      { ...SEED, known: { rule: 'C13', why: 'chance', ids } },
      { kcm: [ended('kcm-1', object(1), object(2))], fleetgc: [ended('fleetgc-1', object(1))], none: NONE },
    ).verdict;
  expect([verdictFor([2]), verdictFor([1, 2]), verdictFor([1])]).toEqual(['known', 'known', 'different']);
});

test('where its own runs differ there is nothing to compare with', () => {
  const kcm = [ended('kcm-1', object(1)), ended('kcm-2', object(1)), ended('kcm-3', object(2))];
  expect(judgedOf({ kcm })).toMatchObject({ verdict: 'kcm-differs', isOneOfKcms: true });
  expect(judgedOf({ kcm, fleetgc: [ended('fleetgc-1')] })).toMatchObject({
    verdict: 'kcm-differs',
    isOneOfKcms: false,
  });
});

test('what a collector stalled at is told, and so is a history that nobody has to collect', () => {
  const stalled = {
    ...ended('fleetgc-1', object(1)),
    stalledAt: [{ id: 1, what: 'is deleted (cluster D14)' }],
  };
  expect(judgedOf({ fleetgc: [stalled], none: ended('none', object(1)) })).toMatchObject({
    isEffective: false,
    stalled: { 'fleetgc-1': ['o1 is deleted (cluster D14)'] },
  });
});
