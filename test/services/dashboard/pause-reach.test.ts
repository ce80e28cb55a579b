import fc from 'fast-check';
import { expect, test } from 'vitest';
import { selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import { pauseReachText } from '../../../services/dashboard/page/texts.ts';
import { runs } from '../../support/property-runs.ts';

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
