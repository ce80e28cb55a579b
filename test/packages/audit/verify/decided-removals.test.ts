import { expect, test } from 'vitest';
import { removableObjects, removalCounts } from '../../../../packages/audit/verify/removals.ts';
import { container, image, inventory, sandbox } from '../../../fixtures/inventory.ts';
import { verdictsOf } from '../../../fixtures/verdicts.ts';

const verdict = (position: number, action: 'remove' | 'keep') => ({
  position,
  action,
  rule: 'D11',
  facts: {},
});

const INVENTORY = {
  ...inventory({
    images: [image('i0'), image('i1')],
    containers: [container('c0'), container('c1')],
    sandboxes: [sandbox('s0'), sandbox('s1')],
  }),
  podLogDirectories: [{ name: 'd0' }, { name: 'd1' }],
  logSymlinks: [{ name: 'l0' }, { name: 'l1' }],
};

/** One of each kind goes. */
const DECISION = {
  verdicts: verdictsOf({
    container: [verdict(0, 'remove'), verdict(1, 'keep')],
    sandbox: [verdict(0, 'keep'), verdict(1, 'remove')],
    'pod-log-directory': [verdict(0, 'remove'), verdict(1, 'keep')],
    'log-symlink': [verdict(0, 'keep'), verdict(1, 'remove')],
    image: [verdict(0, 'keep'), verdict(1, 'remove'), verdict(2, 'keep')],
  }),
};

test('what a decision says to remove is what has that verdict, and not what it keeps, of each kind', () => {
  expect([...(removableObjects(DECISION, INVENTORY) ?? [])].toSorted()).toEqual([
    'container c0',
    'image i1',
    'log-symlink l1',
    'pod-log-directory d0',
    'sandbox s1',
  ]);
});

test('without the inventory, how many of each kind it says to remove', () => {
  expect(Object.fromEntries(removalCounts(DECISION) ?? [])).toEqual({
    image: 1,
    container: 1,
    sandbox: 1,
    'pod-log-directory': 1,
    'log-symlink': 1,
  });
});

test('a verdict about a position that nothing lies at names nothing; lists that were left out are empty', () => {
  const beyond = { verdicts: verdictsOf({ image: [verdict(2, 'remove')] }) };
  expect(removableObjects(beyond, INVENTORY)).toEqual(new Set());
  const { podLogDirectories: _, logSymlinks: __, ...older } = INVENTORY;
  expect(removableObjects(DECISION, older)).toEqual(new Set(['image i1', 'container c0', 'sandbox s1']));
});

test('what cannot be read is not known', () => {
  expect(removableObjects({}, INVENTORY)).toBeNull();
  expect(removableObjects(DECISION, { ...INVENTORY, images: 'none' })).toBeNull();
  expect(removalCounts({ verdicts: null })).toBeNull();
});
