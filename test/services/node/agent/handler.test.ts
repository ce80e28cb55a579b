import { describe, expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { Observe } from '../../../../schemas/events/observe.ts';
import { NO_DISK_HISTORY } from '../../../../services/node/agent/disks.ts';
import { type Justification, refusalOf, whyUnjustified } from '../../../../services/node/agent/orders.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { NODE } from '../../../fixtures/inventory.ts';
import { observe } from '../../../fixtures/observe.ts';
import { POLICY_FOR_OTHERS, pauseRecord, policySet } from '../../../fixtures/policy.ts';
import { instant, MINUTE } from '../../../fixtures/time.ts';

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

describe('the reclaim of an order, held against what the node knows itself', () => {
  const full = filesystems({ availableBytes: '100' });
  const against = (over: Partial<Justification> = {}) =>
    whyUnjustified(observe(), {
      node: { ...NODE, nodeLabels: {} },
      policies: () => policySet(),
      readings: () => ({ filesystems: full, history: NO_DISK_HISTORY, nowMs: at }),
      ...over,
    });

  test('a disk that meets the threshold of the policy in force here', () => {
    expect(against()).toBeNull();
  });

  test('a policy in dry-run is one too: an order to look removes nothing', () => {
    expect(against({ policies: () => policySet({ mode: 'dry-run' }) })).toBeNull();
  });

  test.each<{ refusal: string; over: Partial<Justification> }>([
    {
      refusal: 'not-met',
      over: {
        readings: () => ({
          filesystems: filesystems({ availableBytes: '690' }),
          history: NO_DISK_HISTORY,
          nowMs: at,
        }),
      },
    },
    { refusal: 'paused', over: { policies: () => policySet({}, [pauseRecord()]) } },
    { refusal: 'no-policy', over: { policies: () => POLICY_FOR_OTHERS } },
    {
      refusal: 'policies-unreadable',
      over: {
        policies: () => {
          throw new FleetGcError('POLICIES_UNREADABLE', 'policies are still being read');
        },
      },
    },
  ])('is refused as $refusal', ({ refusal, over }) => {
    expect(against(over)).toMatchObject({ refusal });
  });
});
