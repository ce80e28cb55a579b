import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DashboardOwnerGraph, GraphObject } from '../../../schemas/reports/dashboard-clusters.ts';
import {
  BOX_HEIGHT,
  BOX_WIDTH,
  boxBeside,
  drawGraph,
  type Listed,
  listGraph,
} from '../../../services/dashboard/page/owner-graph.ts';
import { finalizerText } from '../../../services/dashboard/page/texts.ts';
import { runs } from '../../support/property-runs.ts';

const object = (uid: string, over: Partial<GraphObject> = {}): GraphObject => ({
  uid,
  kind: 'ConfigMap',
  namespace: 'ns',
  name: uid,
  state: 'candidate',
  toldMs: 0,
  finalizers: [],
  last: null,
  more: 0,
  ...over,
});

/** Owners and dependents by their uids, the first object being that which is asked for. */
function graphOf(
  pairs: readonly (readonly [string, string])[],
  over: Readonly<Record<string, Partial<GraphObject>>> = {},
): DashboardOwnerGraph {
  const uids = [...new Set(pairs.flat())];
  return {
    cluster: 'c1',
    uid: uids[0] ?? '',
    objects: uids.map((uid) => object(uid, over[uid])),
    edges: pairs.map(([owner, dependent]) => ({ owner, dependent, state: 'gone', isDropped: false })),
    knownSinceMs: null,
  };
}

const pairs = fc
  .array(fc.tuple(fc.nat(12), fc.nat(12)), { minLength: 1, maxLength: 40 })
  .map((all) => all.map(([a, b]): [string, string] => [`o${a}`, `o${b}`]));

describe('the drawn owner graph', () => {
  test('has every object once, no two boxes in one place, and all of it inside', () => {
    fc.assert(
      fc.property(pairs, (given) => {
        const graph = graphOf(given);
        const { boxes, lines, width, height } = drawGraph(graph);
        const uids = boxes.flatMap(({ objects }) => objects.map(({ uid }) => uid));
        expect(uids.toSorted()).toEqual(graph.objects.map(({ uid }) => uid).toSorted());
        expect(new Set(boxes.map(({ x, y }) => `${x} ${y}`)).size).toBe(boxes.length);
        for (const { x, y } of boxes) {
          expect(x + BOX_WIDTH).toBeLessThanOrEqual(width);
          expect(y + BOX_HEIGHT).toBeLessThanOrEqual(height);
        }
        expect(lines.length).toBeLessThanOrEqual(given.length);
      }),
      runs(100),
    );
  });

  test('has owners above their dependents, where none owns itself in a ring', () => {
    fc.assert(
      fc.property(pairs, (given) => {
        const down = given.filter(([a, b]) => a < b);
        const { lines } = drawGraph(graphOf(down));
        for (const { from, to } of lines) expect(from.layer).toBeLessThan(to.layer);
      }),
      runs(100),
    );
  });

  test('ends where objects own each other in a ring', () => {
    const { boxes, lines } = drawGraph(
      graphOf([
        ['a', 'b'],
        ['b', 'c'],
        ['c', 'a'],
        ['c', 'c'],
      ]),
    );
    expect(boxes).toHaveLength(3);
    expect(lines).toHaveLength(4);
  });

  test('has dependents that are alike in one box, and the one that is asked for, and those with dependents, apart', () => {
    const more = Array.from({ length: 20 }, (_, index): [string, string] => ['o', `d${index}`]);
    const drawn = drawGraph(graphOf([...more, ['d19', 'below']]));
    expect(drawn.boxes.map(({ objects }) => objects.length).toSorted((a, b) => a - b)).toEqual([1, 1, 1, 19]);
    const others = drawGraph(graphOf(more, { d0: { state: 'removed' }, d1: { kind: 'Secret' } }));
    expect(others.boxes.map(({ objects }) => objects.length).toSorted((a, b) => a - b)).toEqual([
      1, 1, 1, 18,
    ]);
    const asked = drawGraph({ ...graphOf(more), uid: 'd3' });
    expect(asked.boxes.find(({ objects }) => objects[0]?.uid === 'd3')?.objects).toHaveLength(1);
  });

  test('is walked through with the arrow keys', () => {
    const drawn = drawGraph(
      graphOf([
        ['o', 'a'],
        ['o', 'b'],
        ['b', 'c'],
      ]),
    );
    const box = (uid: string) => {
      const found = drawn.boxes.find(({ objects }) => objects[0]?.uid === uid);
      if (found === undefined) throw new Error(`${uid} is not drawn`);
      return found;
    };
    const beside = (uid: string, direction: 'up' | 'down' | 'left' | 'right') =>
      boxBeside(drawn, box(uid), direction)?.objects[0]?.uid ?? null;
    expect(beside('o', 'up')).toBeNull();
    expect(beside('o', 'down')).toBe('a');
    expect(beside('a', 'right')).toBe('b');
    expect(beside('b', 'left')).toBe('a');
    expect(beside('b', 'right')).toBeNull();
    expect(beside('c', 'up')).not.toBeNull();
  });
});

describe('the list of an owner graph', () => {
  const uidsIn = (all: readonly Listed[]): readonly string[] =>
    all.flatMap(({ object: { uid }, isNamedBefore, dependents }) => [
      ...(isNamedBefore ? [] : [uid]),
      ...uidsIn(dependents),
    ]);

  test('has everything that the graph has, once, whatever owns what', () => {
    fc.assert(
      fc.property(pairs, (given) => {
        const graph = graphOf(given);
        expect(uidsIn(listGraph(graph)).toSorted()).toEqual(graph.objects.map(({ uid }) => uid).toSorted());
      }),
      runs(100),
    );
  });

  test('has dependents below their owner, and names the second time only', () => {
    const [first, second] = listGraph(
      graphOf([
        ['a', 'x'],
        ['b', 'x'],
        ['x', 'y'],
      ]),
    );
    expect(first).toMatchObject({
      object: { uid: 'a' },
      dependents: [{ object: { uid: 'x' }, dependents: [{}] }],
    });
    expect(second).toMatchObject({
      object: { uid: 'b' },
      dependents: [{ isNamedBefore: true, dependents: [] }],
    });
  });
});

test.each([
  ['kubernetes.io/pvc-protection', 'A Pod still uses the claim'],
  ['shop.example/tidy', 'The controller of shop.example has to take it away'],
  ['tidy', 'Find out who sets tidy'],
  ['constructor', 'Find out who sets constructor'],
])('what to do about the finalizer %s', (finalizer, text) => {
  expect(finalizerText(finalizer)).toContain(text);
});
