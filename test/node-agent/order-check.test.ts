import { expect, test } from 'vitest';
import type { Observe } from '../../schemas/observe.ts';
import { refusalOf } from '../../services/node-agent/order-check.ts';
import { NODE } from '../fixtures/inventory.ts';
import { observe } from '../fixtures/observe.ts';
import { instant, MINUTE } from '../fixtures/time.ts';

const at = instant().sinceBootMs;

test.each<{ name: string; order?: Partial<Observe>; nowMs?: number; expected: string | null }>([
  { name: 'an order of this instant is answered', expected: null },
  { name: 'an order at the end of its life is answered', nowMs: at + MINUTE, expected: null },
  { name: 'an order past its life is not', nowMs: at + MINUTE + 1, expected: 'expired' },
  { name: 'an order from the future is not', nowMs: at - 1, expected: 'taken-in-the-future' },
  {
    name: 'an order of another boot is not',
    order: { takenAt: instant({ bootId: 'other' }) },
    expected: 'other-boot',
  },
  {
    name: 'an order of a cluster with an equal node name is not',
    order: { cluster: 'staging' },
    expected: 'other-node',
  },
  { name: 'an order for another node is not', order: { node: 'web-2' }, expected: 'other-node' },
  {
    name: 'an order for an earlier installation of this node is not',
    order: { nodeInstance: '00000000-0000-4000-8000-000000000000' },
    expected: 'other-instance',
  },
  {
    name: 'what the wall clock says plays no part',
    order: { takenAt: instant({ wallTimeMs: 0 }) },
    expected: null,
  },
])('$name', ({ order = {}, nowMs = at, expected }) => {
  expect(refusalOf(observe(order), NODE, instant({ sinceBootMs: nowMs }))).toBe(expected);
});
