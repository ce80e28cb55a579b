import { describe, expect, test } from 'vitest';
import type { GraphObject } from '../../../packages/owner-graph/graph-object.ts';
import { type Surroundings, statedReferences } from '../../../packages/owner-graph/reference-states.ts';
import { FOREGROUND, ORPHAN } from '../../../schemas/events/cluster-objects.ts';
import {
  CLUSTER_ROLE,
  CONFIG_MAP,
  deletingWith,
  graphObject,
  graphOf,
  kindsWith,
  NAMESPACE,
  REPLICA_SET,
  refersTo,
  surroundings,
} from '../../fixtures/graph.ts';

/** The states of the references of `d`, with these others in the graph. */
function statesOf(
  dependent: GraphObject,
  others: readonly GraphObject[],
  over: Partial<Surroundings> = {},
): string[] {
  const graph = graphOf(...others, dependent);
  return statedReferences(dependent, surroundings(graph, over)).map(({ state }) => state);
}
const d = (over: Partial<GraphObject> = {}): GraphObject =>
  graphObject('d', { references: [refersTo('o')], ...over });

describe('an owner that is there', () => {
  test.each([
    { what: 'is not being deleted', owner: {}, state: 'held' },
    { what: 'is being deleted with another finalizer', owner: deletingWith('other'), state: 'held' },
    { what: 'waits for its dependents', owner: deletingWith(FOREGROUND), state: 'waiting' },
    {
      what: 'has that finalizer and is not being deleted',
      owner: { finalizers: [FOREGROUND, ORPHAN] },
      state: 'held',
    },
    { what: 'leaves its dependents', owner: deletingWith(ORPHAN), state: 'orphaning' },
    { what: 'has both finalizers', owner: deletingWith(FOREGROUND, ORPHAN), state: 'orphaning' },
  ])('[cluster D8, C13, N8] $what: $state', ({ owner, state }) => {
    expect(statesOf(d(), [graphObject('o', owner)])).toEqual([state]);
  });

  test('[cluster A2, H1] may be cluster-scoped', () => {
    const references = [refersTo('o', { kind: NAMESPACE })];
    expect(statesOf(d({ references }), [graphObject('o', { kind: NAMESPACE })])).toEqual(['held']);
  });

  test.each([true, false, null])(
    '[cluster A3] is the same whatever else its dependent says of it: %s',
    (said) => {
      const references = [refersTo('o', { controller: said, blockOwnerDeletion: said })];
      for (const [owner, state] of [
        [graphObject('o'), 'held'],
        [graphObject('o', { name: 'other' }), 'elsewhere'],
      ] as const)
        expect(statesOf(d({ references }), [owner])).toEqual([state]);
    },
  );

  test('[cluster B8, H5] is named by any version that is served', () => {
    const references = [refersTo('o', { kind: REPLICA_SET, apiVersion: 'apps/v1beta1' })];
    expect(statesOf(d({ references }), [graphObject('o', { kind: REPLICA_SET })])).toEqual(['held']);
  });

  test.each([
    { what: 'namespace', owner: { namespace: 'other' } },
    { what: 'name', owner: { name: 'other' } },
    { what: 'kind', owner: { kind: REPLICA_SET } },
    { what: 'group', owner: { kind: { ...CONFIG_MAP, group: 'example.com' } } },
  ])('[cluster B8, H1, H4, S4] of another $what is elsewhere', ({ owner }) => {
    expect(statesOf(d(), [graphObject('o', owner)])).toEqual(['elsewhere']);
  });

  test('[cluster E1] loses its dependents however they describe it', () => {
    const owner = graphObject('o', { namespace: 'other', ...deletingWith(ORPHAN) });
    expect(statesOf(d(), [owner])).toEqual(['orphaning']);
  });
});

describe('an owner that is not known', () => {
  const absent = (over: Partial<Surroundings> = {}): string[] => statesOf(d(), [], over);

  test('[cluster D9] was never seen', () => {
    expect(absent()).toEqual(['unseen']);
  });

  test('[cluster I10] cannot be judged while its kind is not synced, or the dependent is new', () => {
    const unsynced = kindsWith({ ConfigMap: { state: 'watched', served: CONFIG_MAP, synced: false } });
    expect(absent({ kinds: unsynced })).toEqual(['pending']);
    expect(absent({ isSettled: () => false })).toEqual(['pending']);
  });

  test('[cluster I7, I8] is of a kind that cannot be listed, for 30 s', () => {
    const unlisted = (forMs: number) =>
      kindsWith({ ConfigMap: { state: 'unlisted', served: CONFIG_MAP, forMs } });
    expect(absent({ kinds: unlisted(29_999) })).toEqual(['pending']);
    expect(absent({ kinds: unlisted(30_000) })).toEqual(['unlisted']);
  });

  test.each(['not-served', 'ambiguous', 'group-failed'] as const)(
    '[cluster D9, I3] its kind is %s',
    (because) => {
      expect(absent({ kinds: kindsWith({ ConfigMap: { state: 'unresolved', because } }) })).toEqual([
        'unresolved',
      ]);
    },
  );
});

describe('an owner that is gone', () => {
  const afterRemoval = (owner: Partial<GraphObject>, over: Partial<Surroundings> = {}): string[] => {
    const graph = graphOf(graphObject('o', owner), d());
    graph.remove('o', owner.kind ?? graphObject('o').kind, 'watched');
    return statedReferences(d(), surroundings(graph, over)).map(({ state }) => state);
  };

  test('[cluster C14] was seen and deleted', () => {
    expect(afterRemoval({})).toEqual(['gone']);
    expect(afterRemoval({}, { isSettled: () => false })).toEqual(['gone']);
  });

  test('[cluster S4] was another object than the reference describes', () => {
    expect(afterRemoval({ namespace: 'other' })).toEqual(['elsewhere']);
  });

  test('[cluster I9] counts for nothing once its kind is not known', () => {
    const kinds = kindsWith({ ConfigMap: { state: 'unresolved', because: 'group-failed' } });
    expect(afterRemoval({}, { kinds })).toEqual(['unresolved']);
  });
});

test('[cluster H2] a cluster-scoped object cannot have a namespaced owner, in whatever order they are seen', () => {
  const role = graphObject('d', { kind: CLUSTER_ROLE, references: [refersTo('o')] });
  const owner = graphObject('o');
  const inNamespace = graphObject('e', { references: [refersTo('d', { kind: CLUSTER_ROLE })] });
  expect(statesOf(role, [])).toEqual(['scope']);
  expect(statesOf(role, [owner])).toEqual(['scope']);
  expect(statesOf(role, [inNamespace, owner])).toEqual(['scope']);
});
