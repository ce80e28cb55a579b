import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import type { DashboardFleet } from '../../../schemas/reports/dashboard.ts';
import { withNews } from '../../../services/dashboard/page/fleet-news.ts';
import { layOut, nodeAt } from '../../../services/dashboard/page/heat-map.ts';
import {
  freedText,
  leftOutText,
  notBelievedText,
  pauseReachText,
  stateText,
  unmeasuredText,
  useStep,
} from '../../../services/dashboard/page/texts.ts';
import { runs } from '../../support/property-runs.ts';

/** A fleet with so many nodes in each group. */
function fleetOf(groups: readonly number[]): DashboardFleet {
  const group = groups.flatMap((count, index) => Array.from({ length: count }, () => index));
  return {
    readAtMs: 0,
    clusters: ['prod'],
    groups: groups.map((_, index) => `group-${index}`),
    labels: [],
    columns: {
      node: group.map((_, index) => `node-${index}`),
      cluster: group.map(() => 0),
      group,
      used: group.map((_, index) => index % 101),
      state: group.map(() => 'well'),
      isPaused: group.map(() => false),
      hasPolicy: group.map(() => true),
    },
  };
}

test('what there is no room for is said, and nothing where all is shown', () => {
  const none = { nodes: 0, clusters: 0, inventories: 0, names: 0 };
  expect(leftOutText(none)).toBeNull();
  expect(leftOutText({ ...none, nodes: 1_200, names: 3 })).toBe(
    'no room for: 1,200 more nodes, 3 names in the search',
  );
});

test('reports that no key proves are said, whether they are shown or not', () => {
  expect(notBelievedText(null)).toBeNull();
  expect(notBelievedText({ records: 0, areShown: false })).toBeNull();
  expect(notBelievedText({ records: 1_234, areShown: false })).toBe(
    '1,234 reports are not shown: no key of their node or cluster signed them',
  );
  expect(notBelievedText({ records: 2, areShown: true })).toMatch(/^2 reports are shown though no key/);
});

describe('the heat map', () => {
  test('has every node in one place, and nobody else there', () => {
    const groups = fc.array(fc.nat(300), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(groups, fc.integer({ min: 1, max: 2_000 }), (counts, width) => {
        const fleet = fleetOf(counts);
        const layout = layOut(fleet, width);
        const found = layout.blocks.flatMap(({ nodes, top }) =>
          nodes.map((_, index) => {
            const x = (index % layout.perRow) * layout.size + layout.size / 2;
            const y = top + 22 + Math.floor(index / layout.perRow) * layout.size + layout.size / 2;
            expect(y).toBeLessThan(layout.height);
            return nodeAt(layout, x, y);
          }),
        );
        expect(found.toSorted((a, b) => Number(a) - Number(b))).toEqual(
          fleet.columns.node.map((_, index) => index),
        );
      }),
      runs(100),
    );
  });

  test.each([
    [-1, -1],
    [5, 5],
    [10_000, 30],
    [5, 100_000],
  ])('has nobody at %i, %i', (x, y) => {
    expect(nodeAt(layOut(fleetOf([3]), 500), x, y)).toBeNull();
  });

  test('of ten thousand nodes fits on a page', () => {
    expect(layOut(fleetOf([10_000]), 1_200).height).toBeLessThan(1_000);
  });
});

test('what is new changes the node that it is about, and no other', () => {
  const fleet = fleetOf([3]);
  const now = withNews(fleet, {
    readAtMs: 7,
    nodes: [
      { cluster: 'prod', node: 'node-1', used: 99, state: 'pressure', isPaused: true, hasPolicy: false },
      { cluster: 'other', node: 'node-2', used: 98, state: 'silent', isPaused: false, hasPolicy: true },
    ],
  });
  expect(now.columns.used).toEqual([0, 99, 2]);
  expect(now.columns.state).toEqual(['well', 'pressure', 'well']);
  expect(now.columns.isPaused).toEqual([false, true, false]);
  expect(now.columns.hasPolicy).toEqual([true, false, true]);
  expect([0, 1, 2].map((position) => stateText(now.columns, position))).toEqual([
    'well',
    'above its threshold; paused; no policy: keeps everything',
    'well',
  ]);
  expect(now.readAtMs).toBe(7);
  expect(fleet.columns.used).toEqual([0, 1, 2]);
});

test('what was measured and what was not are never one number', () => {
  const freed = { freedBytes: '1500000', unmeasured: 2, estimatedBytes: '3000' };
  expect(freedText(freed)).toBe('1.5 MB');
  expect(unmeasuredText(freed)).toBe('and about 3.0 kB that nobody could measure');
  expect(unmeasuredText({ ...freed, unmeasured: 0 })).toBeNull();
  expect(unmeasuredText({ ...freed, estimatedBytes: '0' })).toBeNull();
});

test.each([
  [0, 0],
  [49, 0],
  [50, 1],
  [79, 2],
  [89, 3],
  [90, 4],
  [100, 4],
])('%i percent are step %i', (used, step) => {
  expect(useStep(used)).toBe(step);
});

const few = (...names: readonly string[]) => fc.subarray([...names]);
const selectors = fc.record({
  clusters: few('prod', 'test'),
  nodeNames: few('db-*', 'web-1'),
  pools: few('gpu'),
  nodeLabels: fc.constant({}),
});

test('the dialog says that the objects of clusters are paused exactly where a pause holds for them', () => {
  fc.assert(
    fc.property(selectors, (selector) => {
      const pause = { type: 'fleetgc.pause', version: 1, id: 'p', selector, reason: '' } as const;
      const [cluster = 'prod'] = selector.clusters;
      const set = { subject: 'cluster', policies: [], pauses: [pause], approvals: [], hash: 'h' } as const;
      const holding = selectPolicy(set, { cluster });
      const text = pauseReachText(selector);
      expect(text.includes('objects of their clusters are not paused')).toBe(holding.kind !== 'paused');
      expect(text.includes('whole fleet')).toBe(holding.kind === 'paused' && selector.clusters.length === 0);
    }),
    runs(100),
  );
});
