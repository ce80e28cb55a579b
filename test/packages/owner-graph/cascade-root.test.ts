import { describe, expect, test } from 'vitest';
import { cascadeRoots } from '../../../packages/owner-graph/cascade.ts';
import type { OwnerReference } from '../../../packages/owner-graph/graph-object.ts';
import type { GraphView } from '../../../packages/owner-graph/reference-states.ts';
import { CONFIG_MAP, graphObject, graphOf, refersTo } from '../../fixtures/graph.ts';

const FOREGROUND = { deletionTimestamp: '2026-11-01T00:00:00Z', finalizers: ['foregroundDeletion'] };
/** One that was never seen lies nobody knows where. */
const root = (uid: string, namespace: string | null = 'ns') => ({
  uid,
  kind: 'ConfigMap',
  namespace,
  name: `name-${uid}`,
});

const cascadeRoot = (reference: OwnerReference, graph: GraphView) => cascadeRoots(graph)(reference);

describe('[cluster S7] where a cascade began', () => {
  test('is with an owner that is not there, unless it went with another one itself', () => {
    const graph = graphOf(
      graphObject('middle', { references: [refersTo('gone')] }),
      graphObject('last', { references: [refersTo('middle')] }),
    );
    expect(cascadeRoot(refersTo('gone'), graph)).toEqual(root('gone', null));
    expect(cascadeRoot(refersTo('middle'), graph)).toBeNull();
    graph.remove('middle', CONFIG_MAP, 'watched');
    expect(cascadeRoot(refersTo('middle'), graph)).toEqual(root('gone', null));
    graph.remove('last', CONFIG_MAP, 'watched');
    expect(cascadeRoot(refersTo('last'), graph)).toEqual(root('gone', null));
  });

  test('is its own where an owner held it, or where it went with several', () => {
    const graph = graphOf(
      graphObject('there'),
      graphObject('held', { references: [refersTo('gone'), refersTo('there')] }),
      graphObject('both', { references: [refersTo('gone'), refersTo('gone too')] }),
      graphObject('free'),
    );
    for (const uid of ['held', 'both', 'free']) {
      graph.remove(uid, CONFIG_MAP, 'watched');
      expect(cascadeRoot(refersTo(uid), graph)).toEqual(root(uid));
    }
  });

  test('is found through owners that wait, in rings and however deep', () => {
    const chain = Array.from({ length: 100 }, (_, n) =>
      graphObject(`c${n}`, { ...FOREGROUND, references: [refersTo(n === 0 ? 'top' : `c${n - 1}`)] }),
    );
    const graph = graphOf(
      graphObject('top', FOREGROUND),
      ...chain,
      graphObject('a', { ...FOREGROUND, references: [refersTo('b')] }),
      graphObject('b', { ...FOREGROUND, references: [refersTo('a')] }),
    );
    expect(cascadeRoot(refersTo('c3'), graph)).toEqual(root('top'));
    expect(cascadeRoot(refersTo('c99'), graph)?.kind).toBe('ConfigMap');
    expect(cascadeRoot(refersTo('a'), graph)?.kind).toBe('ConfigMap');
  });

  test('is looked for once at each owner, so that many ways between waiting owners take no time', () => {
    const layers = 40;
    const layer = (n: number): readonly string[] => [`l${n}-a`, `l${n}-b`, `l${n}-c`];
    const owners = Array.from({ length: layers }, (_, n) =>
      layer(n).map((uid) =>
        graphObject(uid, {
          ...FOREGROUND,
          references: (n === 0 ? ['top'] : layer(n - 1)).map((each) => refersTo(each)),
        }),
      ),
    ).flat();
    expect(cascadeRoot(refersTo(`l${layers - 1}-a`), graphOf(...owners))).toEqual(root('top', null));
  });

  test('of all owners of an object is found at once, however many of them wait for however many', () => {
    const layers = 40;
    const layer = (n: number): readonly string[] => Array.from({ length: 20 }, (_, at) => `l${n}-${at}`);
    const many = (n: number) =>
      Array.from({ length: 10 }, () => layer(n))
        .flat()
        .map((uid) => refersTo(uid));
    const owners = Array.from({ length: layers }, (_, n) =>
      layer(n).map((uid) =>
        graphObject(uid, { ...FOREGROUND, references: n === 0 ? [refersTo('top')] : many(n - 1) }),
      ),
    ).flat();
    const graph = graphOf(...owners);
    let asked = 0;
    const get = (uid: string) => {
      asked++;
      return graph.get(uid);
    };
    const rootOf = cascadeRoots({
      get,
      gone: graph.gone,
      otherKinds: (uid) => graph.otherKinds(uid),
      dependents: (uid) => graph.dependents(uid),
      countDependents: (uid) => graph.countDependents(uid),
      countUnknownDependents: (owner) => graph.countUnknownDependents(owner),
    });
    for (const reference of many(layers - 1)) rootOf(reference);
    expect(asked).toBeLessThan(20_000);
  });

  test('is its own owner where more owners wait than are looked at', () => {
    const names = Array.from({ length: 1_001 }, (_, n) => `n${n}`);
    const waiting = names.map((uid) => graphObject(uid, { ...FOREGROUND, references: [refersTo('top')] }));
    const last = graphObject('last', { ...FOREGROUND, references: names.map((uid) => refersTo(uid)) });
    expect(cascadeRoot(refersTo('last'), graphOf(...waiting, last))).toEqual(root('last'));
  });
});
