import { describe, expect, test } from 'vitest';
import type { ObjectOutcome } from '../../../../../schemas/events/result.ts';
import {
  afterInterrupted,
  type End,
  estimateOf,
  removedEarlier,
} from '../../../../../services/node/executor/command.ts';
import { containerRemoval, imageRemoval } from '../../../../fixtures/command.ts';
import { instant, NOW } from '../../../../fixtures/time.ts';
import { BOOT_B } from '../../../../support/manual-clock.ts';
import { removalNode } from '../support/removal-node.ts';

const [IMAGE] = imageRemoval(['app']).items;
const [CONTAINER] = containerRemoval(['dead']).items;
if (IMAGE === undefined || CONTAINER === undefined) throw new Error('a command has an item');

const endingAs = (outcome: ObjectOutcome): End => ({ outcome, actedAt: null, name: 'app:1' });

/** What is told, 700 ms after an earlier process asked for the removal, of what the process of now came to. */
const afterwards = (outcome: ObjectOutcome, { bootId = instant().bootId } = {}) => {
  const { parts, clock, state } = removalNode();
  clock.advance(700);
  const end = endingAs(outcome);
  const interrupted = { item: IMAGE, askedAt: instant({ bootId }) };
  return { told: afterInterrupted(interrupted, end, parts.recorder), end, clock, state };
};

describe('of an object that an earlier process was removing', () => {
  test.each<ObjectOutcome>([
    { outcome: 'removed', measured: null, estimatedBytes: 10, durationMs: 5 },
    { outcome: 'failed', reason: 'runtime-error', message: 'busy', backoffUntilMs: NOW },
  ])('what this one did itself is told as it is: $outcome', (outcome) => {
    const { told, end } = afterwards(outcome);
    expect(told).toBe(end);
  });

  test('[M31] one that is gone was removed, by whichever process, in the time since it was asked for', () => {
    const { told, clock } = afterwards({ outcome: 'not-found' });
    expect(told).toEqual({
      outcome: { outcome: 'removed', measured: null, estimatedBytes: 10, durationMs: 700 },
      actedAt: clock.now(),
      name: null,
    });
  });

  test('nobody knows over a reboot how long that took', () => {
    expect(afterwards({ outcome: 'not-found' }, { bootId: BOOT_B }).told.outcome).toMatchObject({
      outcome: 'removed',
      durationMs: 0,
    });
  });

  test.each<ObjectOutcome>([
    { outcome: 'refused', reason: 'running', message: 'it runs' },
    { outcome: 'not-needed', message: 'it runs' },
    { outcome: 'not-done', message: 'it runs' },
  ])(
    'one that is $outcome now may go all the same: that is told, counts as an action, and waits',
    (outcome) => {
      const { told, clock, state } = afterwards(outcome);
      expect(told).toEqual({
        outcome: {
          outcome: 'failed',
          reason: 'deadline-exceeded',
          message:
            'it was being removed when an earlier process ended, and it is left alone now (it runs): the runtime may have removed it, or may do so yet',
          backoffUntilMs: clock.now().wallTimeMs + 60_000,
        },
        actedAt: clock.now(),
        name: null,
      });
      expect(JSON.parse(state.files.get('backoff') ?? '')).toMatchObject({
        objects: [{ id: 'app', failures: 1 }],
      });
    },
  );
});

test('a removal that an earlier process has seen is told at this moment, and nothing is measured of it any more', () => {
  const { parts, clock } = removalNode();
  clock.advance(5);
  expect(removedEarlier(CONTAINER, { durationMs: 70 }, parts.recorder)).toEqual({
    outcome: { outcome: 'removed', measured: null, estimatedBytes: null, durationMs: 70 },
    actedAt: clock.now(),
    name: null,
  });
});

test('images are counted with bytes, and nothing else is', () => {
  expect(estimateOf(IMAGE)).toBe(10);
  expect(estimateOf(CONTAINER)).toBeNull();
});
