import { describe, expect, test } from 'vitest';
import { Listing, type OwnerIndex } from '../../../packages/owner-graph/owner-index.ts';
import { FOREGROUND, ORPHAN } from '../../../schemas/events/cluster-objects.ts';
import {
  CONFIG_MAP,
  deletingWith,
  graphObject,
  graphOf,
  REPLICA_SET,
  refersTo,
  SECRET,
} from '../../fixtures/graph.ts';

const dependentsOf = (graph: OwnerIndex, uid: string): string[] =>
  [...graph.dependents(uid)].map((each) => each.uid).toSorted();

describe('who lists whom', () => {
  test('[cluster B6] is known before the owner is, and after it is gone', () => {
    const graph = graphOf(graphObject('d', { references: [refersTo('o')] }));
    expect(dependentsOf(graph, 'o')).toEqual(['d']);
    graph.put(graphObject('o'));
    graph.remove('o', CONFIG_MAP, 'watched');
    graph.put(graphObject('o'));
    expect([dependentsOf(graph, 'o'), graph.countDependents('o')]).toEqual([['d'], 1]);
  });

  test('[cluster C10] follows the references, whose left owners are told', () => {
    const graph = graphOf(graphObject('d', { references: [refersTo('a'), refersTo('b')] }));
    const left = graph.put(graphObject('d', { references: [refersTo('b'), refersTo('c')] }));
    expect(left).toEqual(['a']);
    expect(['a', 'b', 'c'].map((uid) => dependentsOf(graph, uid))).toEqual([[], ['d'], ['d']]);
  });

  test('[cluster C8] a uid that is listed twice is one owner', () => {
    const graph = graphOf(
      graphObject('d', { references: [refersTo('a'), refersTo('a', { name: 'other' })] }),
    );
    expect(graph.put(graphObject('d', { references: [refersTo('a')] }))).toEqual([]);
    expect(dependentsOf(graph, 'a')).toEqual(['d']);
    graph.put(graphObject('d'));
    expect(dependentsOf(graph, 'a')).toEqual([]);
  });

  test('[cluster C14] an object that is gone lists nobody', () => {
    const graph = graphOf(graphObject('d', { references: [refersTo('o')] }));
    graph.remove('d', CONFIG_MAP, 'watched');
    expect([dependentsOf(graph, 'o'), graph.size]).toEqual([[], 0]);
  });

  test('an owner with thousands of dependents loses each of them', () => {
    const uids = Array.from({ length: 3_000 }, (_, n) => `d${n}`);
    const graph = graphOf(...uids.map((uid) => graphObject(uid, { references: [refersTo('o')] })));
    expect(graph.countDependents('o')).toBe(3_000);
    for (const uid of uids) graph.remove(uid, CONFIG_MAP, 'watched');
    expect(graph.countDependents('o')).toBe(0);
  });

  test('siblings have one list of references between them', () => {
    const references = () => [refersTo('o', { controller: true })];
    const graph = graphOf(
      graphObject('a', { references: references() }),
      graphObject('b', { references: references() }),
      graphObject('c', { references: [refersTo('o')] }),
    );
    expect(graph.get('b')?.references).toBe(graph.get('a')?.references);
    expect(graph.get('c')?.references).toEqual([refersTo('o')]);
  });
});

describe('what is gone', () => {
  test('[cluster A7, S6] is remembered with how it went', () => {
    const graph = graphOf(graphObject('o'), graphObject('p', deletingWith(ORPHAN, 'other')));
    graph.remove('o', CONFIG_MAP, 'relisted');
    graph.put(graphObject('p', deletingWith('other')));
    graph.remove('p', CONFIG_MAP, 'watched');
    expect(graph.gone.get('o')).toMatchObject({ name: 'name-o', how: 'relisted', orphaned: false });
    expect(graph.gone.get('p')).toMatchObject({ how: 'watched', orphaned: true });
  });

  test('is forgotten when it is back', () => {
    const graph = graphOf(graphObject('o', deletingWith(FOREGROUND)));
    graph.remove('o', CONFIG_MAP, 'watched');
    graph.put(graphObject('o'));
    expect(graph.gone.get('o')).toBeUndefined();
  });

  test('is remembered for the last ten thousand', () => {
    const graph = graphOf();
    for (let n = 0; n < 10_001; n++) {
      graph.put(graphObject(`u${n}`));
      graph.remove(`u${n}`, CONFIG_MAP, 'watched');
    }
    expect([graph.gone.get('u0'), graph.gone.get('u1')?.name, graph.gone.get('u10000')?.name]).toEqual([
      undefined,
      'name-u1',
      'name-u10000',
    ]);
  });

  test.each([
    ['half of whose kind went in one list', {}, 'mass-relisted'],
    ['that went with its definition', {}, 'kind-going'],
    ['that went so that its dependents stay', deletingWith(ORPHAN), 'watched'],
  ] as const)(
    '[cluster S3, S6] an owner %s is remembered as long as somebody lists it, whatever goes after it',
    (_, over, how) => {
      const graph = graphOf(
        graphObject('o', over),
        graphObject('d', { kind: SECRET, references: [refersTo('o')] }),
      );
      graph.remove('o', CONFIG_MAP, how);
      const like = graph.gone.get('o');
      if (like === undefined) throw new Error('it is not remembered at all');
      for (let n = 0; n < 100_001; n++) graph.gone.add(`u${n}`, like);
      expect(graph.gone.get('o')).toMatchObject({ how });
      expect([graph.gone.get('u0'), graph.gone.get('u100000')]).toEqual([undefined, like]);
    },
  );

  test('[cluster C11] that was never known is nothing', () => {
    const graph = graphOf();
    expect(graph.remove('x', CONFIG_MAP, 'watched')).toBeNull();
    expect(graph.gone.get('x')).toBeUndefined();
  });
});

describe('a uid under two groups', () => {
  const OTHER = { ...CONFIG_MAP, group: 'other' };
  test('[cluster B2] is one object, gone with its last kind', () => {
    const graph = graphOf(graphObject('o'), graphObject('o', { kind: OTHER }));
    expect([graph.size, graph.otherKinds('o')]).toEqual([1, [OTHER]]);
    expect(graph.remove('o', CONFIG_MAP, 'watched')).toBeNull();
    expect([graph.get('o')?.kind, graph.otherKinds('o')]).toEqual([OTHER, []]);
    expect(graph.remove('o', OTHER, 'watched')?.uid).toBe('o');
    expect(graph.size).toBe(0);
  });

  test('leaves with its last kind when both are withdrawn', () => {
    const graph = graphOf(graphObject('o'), graphObject('o', { kind: OTHER }));
    expect(graph.withdraw(OTHER)).toEqual([]);
    expect(graph.withdraw(CONFIG_MAP).map(({ uid }) => uid)).toEqual(['o']);
  });
});

test('[cluster I9] a kind that is withdrawn takes its objects along, and none of them counts as gone', () => {
  const graph = graphOf(graphObject('o'), graphObject('s', { kind: SECRET, references: [refersTo('o')] }));
  expect(graph.withdraw(CONFIG_MAP).map(({ uid }) => uid)).toEqual(['o']);
  expect([graph.size, graph.gone.get('o'), graph.countDependents('o')]).toEqual([1, undefined, 1]);
});

describe('a list', () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => graphObject(`o${n}`));
  function relisted(before: number, after: number) {
    const graph = graphOf(...many(before), graphObject('s', { kind: SECRET }));
    const listing = new Listing(graph, CONFIG_MAP, false);
    for (const object of many(before).slice(before - after)) listing.put(object);
    return { gone: listing.complete(), graph };
  }

  test('[cluster A14] that is complete tells what is gone, of its kind alone', () => {
    const { gone, graph } = relisted(3, 2);
    expect(gone.map(({ uid }) => uid)).toEqual(['o0']);
    expect([graph.gone.get('o0')?.how, graph.size]).toEqual(['relisted', 3]);
  });

  test('[cluster A14] that never ends tells nothing', () => {
    const graph = graphOf(...many(3));
    new Listing(graph, CONFIG_MAP, false).put(graphObject('o0'));
    expect(graph.size).toBe(3);
  });

  test.each([
    { before: 20, after: 11, how: 'relisted' },
    { before: 20, after: 10, how: 'mass-relisted' },
    { before: 19, after: 0, how: 'relisted' },
    { before: 1_000, after: 0, how: 'mass-relisted' },
  ])('[cluster S3] of $after after $before: $how', ({ before, after, how }) => {
    const { gone, graph } = relisted(before, after);
    expect(gone).toHaveLength(before - after);
    expect(graph.gone.get('o0')?.how).toBe(how);
  });

  test('that is the first of its kind lacks nothing', () => {
    const graph = graphOf(...many(3));
    expect(new Listing(graph, CONFIG_MAP, true).complete()).toEqual([]);
  });
});

test('[cluster A4] an object keeps the kind under which it is watched, in the version of the newest event', () => {
  const newer = { ...REPLICA_SET, version: 'v2' };
  const graph = graphOf(graphObject('o', { kind: REPLICA_SET }), graphObject('o', { kind: newer }));
  expect([graph.get('o')?.kind, graph.otherKinds('o')]).toEqual([newer, []]);
});
