import { expect, test } from 'vitest';
import { imageGcHandler } from '../../../../packages/deciders/image-gc/decider.ts';
import { ImageRemoval } from '../../../../schemas/events/command.ts';
import { Decision } from '../../../../schemas/events/decision.ts';
import type { Inventory } from '../../../../schemas/events/inventory.ts';
import { PressureUnrelieved } from '../../../../schemas/events/result.ts';
import type { PolicySet } from '../../../../schemas/policy/policy.ts';
import { input } from '../../../fixtures/input.ts';
import { image, incompleteInventory, inventory, NODE } from '../../../fixtures/inventory.ts';
import { NO_POLICY, POLICY_FOR_OTHERS, pauseRecord, policySet } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { instant } from '../../../fixtures/time.ts';

const full = inventory({
  images: [image('a', { sizeBytes: 100 }), image('b', { pinned: true })],
  reclaim: reclaim({ round: 2 }),
});

const handled = async (given: Inventory = full, policies: PolicySet = policySet()) => {
  const stages = await imageGcHandler(() => policies)(input('inventory', given));
  const [[recorded] = [], [followUp] = []] = stages;
  return { stages, record: Decision.parse(recorded?.event), followUp };
};

test('[M38] the record comes first, then the command, both naming each other', async () => {
  const { stages, record, followUp } = await handled();
  expect(stages.map((stage) => stage.map(({ topic, key }) => [topic, key]))).toEqual([
    [['decisions', 'prod/web-1']],
    [['commands', 'prod/web-1']],
  ]);
  const command = ImageRemoval.parse(followUp?.event);
  expect(command).toMatchObject({
    ...NODE,
    decisionId: record.id,
    inventoryId: 'inventory-1',
    takenAt: instant(),
    lifetimeMs: 60_000,
    policy: { name: 'default', version: 7, hash: 'b'.repeat(64), setHash: 'c'.repeat(64) },
    reclaim: full.reclaim,
    items: [{ kind: 'image', id: 'a', sizeBytes: 100, estimatedBytes: 100, rule: 'D11' }],
    holders: [
      { reason: 'pinned', objects: 1, bytes: 10 },
      { reason: 'not-images', objects: 0, bytes: 790 },
    ],
  });
  expect(record).toMatchObject({
    policy: command.policy,
    outcome: 'commanded',
    outputIds: [command.id],
    estimatedBytes: 100,
  });
});

test('the command carries the lifetime of its policy', async () => {
  const { followUp } = await handled(full, policySet({ commandLifetimeMs: 5_000 }));
  expect(ImageRemoval.parse(followUp?.event)).toMatchObject({ lifetimeMs: 5_000 });
});

test('[D6] the command carries the smaller target of the policy in force, and so does the record', async () => {
  const { record, followUp } = await handled(full, policySet({ imageGCLowThresholdPercent: 85 }));
  const smaller = { ...reclaim({ round: 2 }), target: { ...reclaim().target, atLeast: '150' } };
  expect(ImageRemoval.parse(followUp?.event).reclaim).toEqual(smaller);
  expect(record.reclaim).toEqual(smaller);
});

test('[M6] a redelivered inventory gives the same bytes', async () => {
  const [first, second] = [await handled(), await handled(structuredClone(full))];
  expect(JSON.stringify(second.stages)).toBe(JSON.stringify(first.stages));
});

test('[M6] other bytes under the same id, or other policies, give another command', async () => {
  const { followUp } = await handled();
  const other = await handled(full, { ...policySet(), hash: 'f'.repeat(64) });
  expect(other.followUp?.event.id).not.toBe(followUp?.event.id);
  const position = { ...input('inventory', full).position, sha256: 'f'.repeat(64) };
  const [, [otherBytes] = []] = await imageGcHandler(policySet)({ event: full, position });
  expect(otherBytes?.event.id).not.toBe(followUp?.event.id);
});

test('[M8] pressure that stays is published after the record', async () => {
  const given = inventory({ images: [image('b', { pinned: true })], reclaim: reclaim() });
  const { stages, record, followUp } = await handled(given);
  expect(stages.map((stage) => stage.map(({ topic }) => topic))).toEqual([['decisions'], ['decisions']]);
  expect(record).toMatchObject({ outcome: 'unrelieved', outputIds: [] });
  expect(PressureUnrelieved.parse(followUp?.event)).toMatchObject({
    ...NODE,
    reclaim: given.reclaim,
    availableNow: '100',
    holders: [{ reason: 'pinned' }, { reason: 'not-images' }],
  });
});

test.each([
  { name: 'no policy', policies: NO_POLICY, outcome: 'no-policy', rule: 'P1' },
  { name: 'a policy for other nodes', policies: POLICY_FOR_OTHERS, outcome: 'no-policy', rule: 'P1' },
  { name: 'a pause', policies: policySet({}, [pauseRecord()]), outcome: 'paused', rule: 'P2' },
])('[$rule] $name keeps every image, and the record says so', async ({ policies, outcome, rule }) => {
  const { stages, record } = await handled(full, policies);
  expect(stages).toHaveLength(1);
  expect(record).toMatchObject({ outcome, outputIds: [], estimatedBytes: 0 });
  expect(record.verdicts).toEqual([
    { kind: 'image', position: 0, action: 'keep', rule, facts: {} },
    { kind: 'image', position: 1, action: 'keep', rule, facts: {} },
  ]);
  expect((await handled(incompleteInventory, policies)).record.verdicts).toEqual([]);
});

test('dry-run sends no command', async () => {
  const { stages, record } = await handled(full, policySet({ mode: 'dry-run' }));
  expect(stages).toHaveLength(1);
  expect(record).toMatchObject({ outcome: 'dry-run', outputIds: [], estimatedBytes: 100 });
});

test('sizes whose sum passes 2^53 are reported as the largest exact number', async () => {
  const images = [
    image('a', { sizeBytes: Number.MAX_SAFE_INTEGER, pinned: true }),
    image('b', { sizeBytes: 5, pinned: true }),
  ];
  const { followUp } = await handled(inventory({ images, reclaim: reclaim() }));
  expect(PressureUnrelieved.parse(followUp?.event).holders).toEqual([
    { reason: 'pinned', objects: 2, bytes: Number.MAX_SAFE_INTEGER },
  ]);
});
