import { expect, test } from 'vitest';
import { sha256Hex } from '../../../packages/canonical/ids.ts';
import { imageGcHandler } from '../../../packages/deciders/image-gc/decider.ts';
import { type OvertakenInput, overtakenHandler } from '../../../packages/decision/overtaking.ts';
import { Decision } from '../../../schemas/events/decision.ts';
import { inventory, NODE } from '../../fixtures/inventory.ts';
import { policySet } from '../../fixtures/policy.ts';
import { reclaim } from '../../fixtures/reclaim.ts';
import { instant } from '../../fixtures/time.ts';
import { outputHash } from '../../support/output-hash.ts';

const TOPIC = 'gc.node.inventory';
const DECIDER = { name: 'image-gc', version: '1' } as const;
const POLICIES = { hash: 'f'.repeat(64) };
const input: OvertakenInput = {
  event: inventory(),
  position: { topic: TOPIC, partition: 3, offset: '41', sha256: 'a'.repeat(64) },
  overtakenBy: { topic: TOPIC, partition: 3, offset: '44', id: 'inventory-2' },
};

function recordOf(over: Partial<OvertakenInput> = {}): Decision {
  const [[output, ...more] = [], ...following] = overtakenHandler(
    DECIDER,
    () => POLICIES,
  )({ ...input, ...over });
  expect([more, following]).toEqual([[], []]);
  expect(output).toMatchObject({ topic: 'decisions', key: 'prod/web-1' });
  return Decision.parse(output?.event);
}

test('an overtaken inventory gives a record that names both, and nothing follows from it', () => {
  const { outputSha256, ...record } = recordOf();

  expect(record).toEqual({
    type: 'fleetgc.node.decision',
    version: 1,
    id: expect.stringMatching(/^decision-[0-9a-f]{32}$/),
    ...NODE,
    takenAt: instant(),
    decider: DECIDER,
    input: { ...input.position, id: 'inventory-1' },
    policy: null,
    policySetHash: POLICIES.hash,
    outcome: 'overtaken',
    reason: 'a newer look was already there',
    notBelieved: [],
    notes: [],
    reclaim: null,
    estimatedBytes: 0,
    verdicts: [],
    outputIds: [],
    overtakenBy: input.overtakenBy,
  });
  expect(outputSha256).toBe(outputHash([record]));
});

test('records of the past are verified by making them again: not a byte of one ever changes', () => {
  const text = JSON.stringify(recordOf({ event: inventory({ reclaim: reclaim() }) }));

  expect(sha256Hex(text)).toMatchInlineSnapshot(
    `"2f4bc32bff785f0533cef45ee66bd638319f0d16d14ec1c5059cce5b4977c765"`,
  );
});

test('its id is its own for each newer message, and never that of a decision', () => {
  const { overtakenBy } = input;
  const [[decided] = []] = imageGcHandler(policySet)({ event: inventory(), position: input.position });
  const ids = [
    recordOf(),
    recordOf({ overtakenBy: { ...overtakenBy, offset: '45' } }),
    recordOf({ overtakenBy: { ...overtakenBy, id: 'inventory-3' } }),
    recordOf({ position: { ...input.position, sha256: 'b'.repeat(64) } }),
  ].map(({ id }) => id);

  expect(new Set([...ids, decided?.event.id]).size).toBe(5);
  expect(recordOf().id).toBe(ids[0]);
});
