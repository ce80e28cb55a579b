import { describe, expect, test } from 'vitest';
import { candidacyOf, neighbours } from '../../../packages/owner-graph/candidacy.ts';
import type { GraphObject } from '../../../packages/owner-graph/graph-object.ts';
import { FOREGROUND, ORPHAN } from '../../../schemas/events/cluster-objects.ts';
import {
  CLUSTER_ROLE,
  deletingWith,
  graphObject,
  graphOf,
  kindsWith,
  refersTo,
  surroundings,
} from '../../fixtures/graph.ts';

const HELD = graphObject('held');
const WAITING = graphObject('waiting', deletingWith(FOREGROUND));
const ORPHANING = graphObject('orphaning', deletingWith(ORPHAN));

const isCandidate = (object: GraphObject, ...others: GraphObject[]): boolean =>
  candidacyOf(object, surroundings(graphOf(HELD, WAITING, ORPHANING, ...others, object))) !== null;
const listing = (...uids: string[]): GraphObject =>
  graphObject('x', { references: uids.map((uid) => refersTo(uid)) });

describe('[cluster D10] an object that is not being deleted', () => {
  test.each([
    { owners: [], is: false },
    { owners: ['held'], is: false },
    { owners: ['held', 'held'], is: false },
    { owners: ['absent'], is: true },
    { owners: ['held', 'absent'], is: true },
    { owners: ['waiting'], is: true },
    { owners: ['held', 'waiting'], is: true },
    { owners: ['orphaning'], is: true },
  ])('is a candidate with owners $owners: $is', ({ owners, is }) => {
    expect(isCandidate(listing(...owners))).toBe(is);
  });

  test('[cluster D8, H2] is none while one reference cannot be judged, but for an owner that leaves it', () => {
    const unresolved = refersTo('o', { apiVersion: 'example.com/v1' });
    const object = graphObject('x', { references: [unresolved, refersTo('absent')] });
    expect(isCandidate(object)).toBe(false);
    expect(isCandidate({ ...object, references: [...object.references, refersTo('orphaning')] })).toBe(true);
    const role = graphObject('x', { kind: CLUSTER_ROLE, references: [refersTo('absent')] });
    expect(isCandidate(role)).toBe(false);
  });
});

describe('an object that is being deleted', () => {
  const x = (over: Partial<GraphObject>): GraphObject => graphObject('x', over);
  const lists = (blockOwnerDeletion: boolean): GraphObject =>
    graphObject('d', { references: [refersTo('x', { blockOwnerDeletion })] });

  test('[cluster D3] without either finalizer is none, whatever its owners', () => {
    expect(isCandidate({ ...listing('absent'), ...deletingWith('other') })).toBe(false);
  });

  test('[cluster E1] loses the reference to an owner that leaves it', () => {
    expect(isCandidate({ ...listing('orphaning'), ...deletingWith('other') })).toBe(true);
  });

  test('[cluster E3] that leaves its dependents is one when nobody lists it', () => {
    expect(isCandidate(x(deletingWith(ORPHAN)))).toBe(true);
    expect(isCandidate(x(deletingWith(ORPHAN)), lists(false))).toBe(false);
  });

  test('[cluster D17, G7] that waits for its dependents is one when nobody blocks it', () => {
    expect(isCandidate(x(deletingWith(FOREGROUND)))).toBe(true);
    expect(isCandidate(x(deletingWith(FOREGROUND)), lists(false))).toBe(true);
    expect(isCandidate(x(deletingWith(FOREGROUND)), lists(true))).toBe(false);
  });

  test('[cluster C13] that has both finalizers leaves its dependents first', () => {
    expect(isCandidate(x(deletingWith(FOREGROUND, ORPHAN)), lists(false))).toBe(false);
  });
});

test('[cluster D12, D17] a candidate tells who lists it: how many, who blocks, and whether one waits', () => {
  const object = listing('absent');
  const graph = graphOf(
    object,
    graphObject('a', {
      references: [refersTo('x', { blockOwnerDeletion: true })],
      ...deletingWith(FOREGROUND),
    }),
    graphObject('b', { references: [refersTo('x')] }),
  );
  expect(candidacyOf(object, surroundings(graph))?.dependents).toEqual({
    count: 2,
    blocking: 1,
    oneWaits: true,
  });
});

test('[cluster C7] a kind that is served again makes candidates again', () => {
  const object = listing('absent');
  const lost = kindsWith({ ConfigMap: { state: 'unresolved', because: 'not-served' } });
  expect(candidacyOf(object, surroundings(graphOf(object), { kinds: lost }))).toBeNull();
  expect(candidacyOf(object, surroundings(graphOf(object)))).not.toBeNull();
});

test('[cluster C9, C14] a change concerns the object, those that list it and those that it lists', () => {
  const graph = graphOf(listing('a', 'b'), graphObject('d', { references: [refersTo('x')] }));
  expect([...neighbours('x', graph)].toSorted()).toEqual(['a', 'b', 'd', 'x']);
});
