import { describe, expect, test } from 'vitest';
import { deriveId } from '../../../../packages/canonical/ids.ts';
import { pressureHandler, resultsHandler } from '../../../../packages/deciders/pressure/decider.ts';
import { Decision } from '../../../../schemas/events/decision.ts';
import { Observe } from '../../../../schemas/events/observe.ts';
import type { EventOf } from '../../../../schemas/events/topics.ts';
import type { PolicySet } from '../../../../schemas/policy/policy.ts';
import { diskStats } from '../../../fixtures/disk-stats.ts';
import { input } from '../../../fixtures/input.ts';
import { NODE } from '../../../fixtures/inventory.ts';
import { NO_POLICY, POLICY_FOR_OTHERS, pauseRecord, policySet } from '../../../fixtures/policy.ts';
import {
  objectResult,
  pressureUnrelieved,
  reclaimGoesOn,
  refusedCommand,
} from '../../../fixtures/results.ts';
import { disks, SPLIT } from './node-disks.ts';

const handled = async (policies: PolicySet = policySet(), stats = diskStats()) => {
  const stages = await pressureHandler(() => policies)(input('diskStats', stats));
  const [[recorded] = [], [ordered] = []] = stages;
  return { stages, record: Decision.parse(recorded?.event), ordered };
};

test('[J18, J12] a threshold that stays met orders again with the next reading, as another reclaim', async () => {
  const first = await handled();
  const next = await handled(policySet(), diskStats({}, { id: 'disk-stats-2' }));
  expect(next.record.outcome).toBe('ordered');
  expect(next.record.reclaim?.id).not.toBe(first.record.reclaim?.id);
});

test('[J5] the order begins with the first of the actions of its reclaim', async () => {
  const images = disks(SPLIT, { imagefs: { availableBytes: '0' } });
  const { ordered } = await handled(policySet({ imageGCHighThresholdPercent: 100 }), images);
  expect(Observe.parse(ordered?.event).reclaim).toMatchObject({
    actions: ['images'],
    step: 'images',
    round: 1,
  });
});

test('[M38] a met threshold gives the record first and then one order, both naming the same reclaim', async () => {
  const { stages, record, ordered } = await handled();
  expect(stages.map((stage) => stage.map(({ topic, key }) => [topic, key]))).toEqual([
    [['decisions', 'prod/web-1']],
    [['observe', 'prod/web-1']],
  ]);
  const order = Observe.parse(ordered?.event);
  expect(order).toMatchObject({ ...NODE, lifetimeMs: 60_000, reclaim: { step: 'containers', round: 1 } });
  expect(record).toMatchObject({ outcome: 'ordered', reclaim: order.reclaim, outputIds: [order.id] });
  expect(record.policy).toEqual({
    name: 'default',
    version: 7,
    hash: 'b'.repeat(64),
    setHash: 'c'.repeat(64),
  });
  expect(record.input).toMatchObject({ topic: 'gc.node.disk-stats', offset: '42', id: 'disk-stats-1' });
});

test('[M6, J12] a redelivered event gives the same bytes; another set of policies gives other ids', async () => {
  const first = await handled();
  expect((await handled()).stages).toEqual(first.stages);
  const other = await handled({ ...policySet(), hash: 'f'.repeat(64) });
  expect(other.record.id).not.toBe(first.record.id);
  expect(other.record.reclaim?.id).not.toBe(first.record.reclaim?.id);
});

test('[M6] the id of the reclaim is that of its decision, of another kind', async () => {
  const { record } = await handled();
  expect(record.reclaim?.id).toBe(deriveId('reclaim', record.id));
});

test('profile kubelet orders as well', async () => {
  const { record, stages } = await handled(policySet({ profile: 'kubelet' }));
  expect(record.outcome).toBe('ordered');
  expect(stages).toHaveLength(2);
});

test('dry-run orders all the same, since an order to look removes nothing', async () => {
  const { record, stages } = await handled(policySet({ mode: 'dry-run' }));
  expect(record.outcome).toBe('ordered');
  expect(stages).toHaveLength(2);
});

test.each([
  { name: 'no policy', policies: NO_POLICY, outcome: 'no-policy' },
  { name: 'a policy for other nodes', policies: POLICY_FOR_OTHERS, outcome: 'no-policy' },
  { name: 'a pause', policies: policySet({}, [pauseRecord()]), outcome: 'paused' },
])('$name means a record and no order', async ({ policies, outcome }) => {
  const { record, stages } = await handled(policies);
  expect(stages).toHaveLength(1);
  expect(record).toMatchObject({ outcome, reclaim: null, outputIds: [], policy: null });
});

test('the record of a pause says the reason that was given for it', async () => {
  const { record } = await handled(policySet({}, [pauseRecord({ reason: 'ticket 7' })]));
  expect(record.reason).toContain('ticket 7');
});

test('a reading that is not believed is recorded without an order', async () => {
  const { record, stages } = await handled(policySet(), diskStats({ availableBytes: '2000' }));
  expect(stages).toHaveLength(1);
  expect(record).toMatchObject({
    outcome: 'not-believed',
    notBelieved: ['nodefs', 'imagefs', 'containerfs'].map(() => ({ rule: 'M37' })),
  });
});

describe('a reclaim that goes on', () => {
  const answered = (event: EventOf<'results'>, policies: PolicySet = policySet()) =>
    resultsHandler(() => policies)(input('results', event));

  test('[J14] is answered with a record and the order for its next look', () => {
    const event = reclaimGoesOn();
    const [[recorded] = [], [ordered] = []] = answered(event);
    const record = Decision.parse(recorded?.event);
    const order = Observe.parse(ordered?.event);
    expect(order).toMatchObject({ ...NODE, takenAt: event.takenAt, reclaim: event.reclaim });
    expect(record).toMatchObject({ outcome: 'ordered', reclaim: event.reclaim, outputIds: [order.id] });
    expect(record.reason).toMatch(/goes on with images, round 2: .* and it has 100$/);
    expect(record.input).toMatchObject({ topic: 'gc.node.results', id: event.id });
  });

  test('what could not be measured is not made up', () => {
    const [[recorded] = []] = answered({ ...reclaimGoesOn(), availableNow: null });
    expect(Decision.parse(recorded?.event).reason).toMatch(/, and it could not be measured$/);
  });

  test('[M6] delivered twice it gives the same bytes', () => {
    expect(answered(reclaimGoesOn())).toEqual(answered(reclaimGoesOn()));
  });

  test.each([objectResult(), refusedCommand(), pressureUnrelieved()])(
    'no other result is decided on: $type',
    (event) => expect(answered(event)).toEqual([]),
  );
});
