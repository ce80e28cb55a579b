import fc from 'fast-check';
import { expect, test } from 'vitest';
import { unmetConditions, unmetText } from '../../../packages/policy/effective.ts';
import { selects } from '../../../schemas/policy/policy-selection.ts';
import { EVERY_NODE } from '../../fixtures/policy.ts';

const NODE = { cluster: 'prod', node: 'web-1', nodeLabels: { role: 'web', 'fleetgc.io/pool': 'cpu' } };

test.each([
  { selector: {}, says: '' },
  {
    selector: { clusters: ['prod'], nodeNames: ['web-*'], pools: ['cpu'], nodeLabels: { role: 'web' } },
    says: '',
  },
  { selector: { clusters: ['a', 'b'] }, says: 'selector.clusters is a or b, the node has prod' },
  { selector: { nodeNames: ['db-*', 'x'] }, says: 'selector.nodeNames is db-* or x, the node has web-1' },
  { selector: { pools: ['gpu'] }, says: 'selector.pools is gpu, the node has cpu' },
  {
    selector: { pools: ['gpu'], nodeLabels: { role: 'db', zone: 'a' } },
    says: 'selector.pools is gpu, the node has cpu; selector.nodeLabels.role is db, the node has web; selector.nodeLabels.zone is a, the node has none',
  },
])('what speaks against $selector: $says', ({ selector, says }) => {
  expect(unmetText(unmetConditions({ ...EVERY_NODE, ...selector }, NODE))).toBe(says);
});

test('a cluster that was not given is said to be so', () => {
  const selector = { ...EVERY_NODE, clusters: ['prod'] };
  expect(unmetText(unmetConditions(selector, { ...NODE, cluster: '' }))).toBe(
    'selector.clusters is prod, no cluster was given',
  );
});

test('something speaks against a selector exactly when it does not select', () => {
  const word = fc.constantFrom('a', 'b', 'c');
  const words = fc.array(word, { maxLength: 2 });
  const labels = fc.dictionary(fc.constantFrom('x', 'y', 'fleetgc.io/pool'), word, { noNullPrototype: true });
  const selector = fc.record({ clusters: words, nodeNames: words, pools: words, nodeLabels: labels });
  const node = fc.record({ cluster: word, node: word, nodeLabels: labels });
  fc.assert(
    fc.property(selector, node, (given, asked) => {
      expect(unmetConditions(given, asked).length === 0).toBe(selects(given, asked));
    }),
  );
});
