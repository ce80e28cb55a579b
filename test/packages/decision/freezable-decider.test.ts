import { describe, expect, test } from 'vitest';
import { DECIDER } from '../../../packages/deciders/image-gc/decide.ts';
import { imageGcHandler } from '../../../packages/deciders/image-gc/decider.ts';
import { freezable } from '../../../packages/decision/freezable-decider.ts';
import { READABLE_INVENTORY } from '../../../packages/decision/inventory-checks.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import { image, incompleteInventory, inventory } from '../../fixtures/inventory.ts';
import { policySet } from '../../fixtures/policy.ts';
import { reclaim } from '../../fixtures/reclaim.ts';
import { instant } from '../../fixtures/time.ts';

const { read, decide, passOver } = freezable({
  ...READABLE_INVENTORY,
  decider: DECIDER,
  handler: imageGcHandler,
});
const POSITION = { topic: 'gc.node.inventory', partition: 3, offset: '41', sha256: 'a'.repeat(64) };
const REJECTED = {
  code: 'EVENT_REJECTED',
  message: expect.stringMatching(/^this decider does not read this/),
};
const thrownBy = (act: () => unknown): unknown => {
  try {
    return { returned: act() };
  } catch (error) {
    return error;
  }
};

describe('a message', () => {
  test('is read as the event that it tells', () => {
    expect(read(JSON.parse(JSON.stringify(inventory())))).toEqual(inventory());
  });

  test.each([{}, null, 'text', { ...inventory(), images: 'none' }])('that is none is rejected', (message) => {
    expect(thrownBy(() => read(message))).toMatchObject(REJECTED);
  });

  test('gives what its handler gives, the record first, each with its text', () => {
    const event = inventory({ images: [image('a'), image('b')], reclaim: reclaim() });
    const handled = imageGcHandler(policySet)({ event, position: POSITION }).flat();
    const given = decide(event, POSITION, policySet());
    expect(given).toEqual(handled.map(({ event: output, text }) => ({ event: output, text })));
    expect(given.map((each) => JSON.parse(each.text).type)).toEqual([
      'fleetgc.node.decision',
      'fleetgc.node.command',
    ]);
  });
});

describe('a message that a newer one is said to have overtaken', () => {
  const older = inventory({ id: 'older', takenAt: instant({ sinceBootMs: 5_000 }) });
  const newer = (over: Partial<CompleteInventory> = {}) =>
    inventory({ id: 'newer', takenAt: instant({ sinceBootMs: 6_000 }), ...over });
  const said = (over: { readonly older?: unknown; readonly newer?: unknown } = {}) => ({
    older,
    newer: newer(),
    position: POSITION,
    overtakenBy: { topic: POSITION.topic, partition: 3, offset: '44', id: 'newer' },
    policySetHash: 'f'.repeat(64),
    ...over,
  });

  test('gives a record that names both', () => {
    const record = passOver(said());
    expect(record?.event).toMatchObject({
      decider: DECIDER,
      outcome: 'overtaken',
      input: { ...POSITION, id: 'older' },
      overtakenBy: said().overtakenBy,
      policySetHash: said().policySetHash,
      outputIds: [],
    });
    expect(JSON.parse(record?.text ?? '')).toEqual(record?.event);
  });

  test('needs only the heads of both', () => {
    const headOf = ({ images: _, containers: __, sandboxes: ___, ...head }: CompleteInventory) => head;
    expect(passOver(said({ older: headOf(older), newer: headOf(newer()) }))).toEqual(passOver(said()));
  });

  test.each([
    { name: 'was taken before it', by: newer({ takenAt: instant({ sinceBootMs: 4_000 }) }) },
    { name: 'is not complete', by: { ...incompleteInventory, takenAt: instant({ sinceBootMs: 6_000 }) } },
    { name: 'was too large', by: { ...newer(), status: 'too-large' } },
  ])('gives none when the newer one $name', ({ by }) => {
    expect(passOver(said({ newer: by }))).toBeNull();
  });

  test.each([
    { name: 'the older one cannot be read', lie: { older: {} } },
    { name: 'the newer one cannot be read', lie: { newer: {} } },
    { name: 'the newer one has no status', lie: { newer: { ...newer(), status: undefined } } },
    { name: 'the newer one has a status that there is not', lie: { newer: { ...newer(), status: 'fine' } } },
  ])('is rejected when $name', ({ lie }) => {
    expect(thrownBy(() => passOver(said(lie)))).toMatchObject(REJECTED);
  });
});
