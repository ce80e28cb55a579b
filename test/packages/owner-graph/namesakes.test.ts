import { expect, test } from 'vitest';
import { Namesakes } from '../../../packages/owner-graph/namesakes.ts';
import type { StatedReference } from '../../../packages/owner-graph/reference-states.ts';
import { CONFIG_MAP, graphObject, graphOf, refersTo } from '../../fixtures/graph.ts';

const stated = (over: Partial<StatedReference> = {}): StatedReference => ({
  reference: refersTo('old', { name: 'o' }),
  state: 'unseen',
  resolved: CONFIG_MAP,
  gone: null,
  ...over,
});
const child = graphObject('child', { references: [refersTo('old', { name: 'o' })] });

test('[cluster S16] an owner that was never seen has a namesake of its kind in the namespace of its dependent', () => {
  const names = new Namesakes(graphOf(child, graphObject('new', { name: 'o' })), () => 0);
  expect(names.of(child, stated())).toBe('new');
  expect(names.of(child, stated({ state: 'gone' }))).toBeUndefined();
  expect(names.of(child, stated({ resolved: { ...CONFIG_MAP, kind: 'Secret' } }))).toBeUndefined();
  expect(names.of({ ...child, namespace: 'other' }, stated())).toBeUndefined();
  expect(names.of(child, stated({ reference: refersTo('old', { name: 'p' }) }))).toBeUndefined();
});

test('[cluster S16] a namesake that is gone, or has another name by now, is none', () => {
  const graph = graphOf(child, graphObject('new', { name: 'o' }));
  const names = new Namesakes(graph, () => 0);
  expect(names.of(child, stated())).toBe('new');
  graph.remove('new', CONFIG_MAP, 'watched');
  expect(names.of(child, stated())).toBeUndefined();
});

test('[cluster S16] a namesake that comes later is found, and names that nobody asks for are let go', () => {
  let nowMs = 0;
  const graph = graphOf(child);
  const names = new Namesakes(graph, () => nowMs);
  expect(names.of(child, stated())).toBeUndefined();
  graph.put(graphObject('new', { name: 'o' }));
  nowMs = 5_000;
  expect(names.of(child, stated())).toBe('new');
  nowMs = 65_000;
  names.tidy();
  expect(names.of(child, stated())).toBe('new');
});

test('objects whose missing owners have namesakes are counted as long as they are candidates', () => {
  const names = new Namesakes(graphOf(), () => 0);
  for (const uid of ['a', 'b', 'b']) names.note({ uid }, true);
  expect(names.objects).toBe(2);
  names.note({ uid: 'a' }, false);
  expect(names.objects).toBe(1);
});
