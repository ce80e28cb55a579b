import { expect, test } from 'vitest';
import { CascadeWidths } from '../../../packages/owner-graph/cascade.ts';
import { CONFIG_MAP, graphObject, graphOf, refersTo } from '../../fixtures/graph.ts';

const chain = (owner: string, prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) =>
    graphObject(`${prefix}${n}`, { references: [refersTo(n === 0 ? owner : `${prefix}${n - 1}`)] }),
  );

test('[cluster S1] a width counts all that can be reached, each object once, rings too', () => {
  const graph = graphOf(
    ...chain('gone', 'a', 5),
    ...chain('gone', 'b', 3),
    graphObject('both', { references: [refersTo('a4'), refersTo('b2')] }),
    graphObject('ring', { references: [refersTo('both'), refersTo('ring')] }),
  );
  expect(new CascadeWidths(graph).of('gone', 'ConfigMap')).toEqual({ objects: 10, ofKind: 10 });
});

test('[cluster S1] the width of a kind is that of all its missing owners', () => {
  const graph = graphOf(...chain('one', 'a', 5), ...chain('two', 'b', 3), ...chain('three', 'c', 2));
  const widths = new CascadeWidths(graph);
  widths.of('one', 'ConfigMap');
  widths.of('three', 'Secret');
  expect(widths.of('two', 'ConfigMap')).toEqual({ objects: 3, ofKind: 8 });
});

test('[cluster S1] what went already counts on, until nobody lists the owner', () => {
  const graph = graphOf(
    ...['a', 'b', 'c'].map((uid) => graphObject(uid, { references: [refersTo('gone')] })),
  );
  const widths = new CascadeWidths(graph);
  widths.of('gone', 'ConfigMap');
  graph.remove('a', CONFIG_MAP, 'watched');
  widths.tidy();
  expect(widths.of('gone', 'ConfigMap')).toEqual({ objects: 3, ofKind: 3 });
  for (const uid of ['b', 'c']) graph.remove(uid, CONFIG_MAP, 'watched');
  widths.tidy();
  expect(widths.of('gone', 'ConfigMap')).toEqual({ objects: 0, ofKind: 0 });
});

test('[cluster S1] more dependents are counted anew, and an owner that is back counts nothing', () => {
  const graph = graphOf(graphObject('a', { references: [refersTo('o')] }));
  const widths = new CascadeWidths(graph);
  expect(widths.of('o', 'ConfigMap').objects).toBe(1);
  graph.put(graphObject('b', { references: [refersTo('o')] }));
  expect(widths.of('o', 'ConfigMap')).toEqual({ objects: 2, ofKind: 2 });
  graph.put(graphObject('o'));
  widths.tidy();
  graph.remove('b', CONFIG_MAP, 'watched');
  expect(widths.of('o', 'ConfigMap')).toEqual({ objects: 1, ofKind: 1 });
});
