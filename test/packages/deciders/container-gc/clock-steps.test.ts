import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/container-gc/decide.ts';
import type { CompleteInventory, InventoryContainer } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { container, gonePod, inventory } from '../../../fixtures/inventory.ts';
import { policy } from '../../../fixtures/policy.ts';
import { HOUR, instant, MINUTE, NOW, nsAgo, SECOND } from '../../../fixtures/time.ts';
import { ofKind } from '../../../fixtures/verdicts.ts';
import { runs } from '../../../support/property-runs.ts';

const created = container('created', { state: 'created', createdAtNs: nsAgo(24 * HOUR) });
const exited = container('exited', {
  name: 'side',
  createdAtNs: nsAgo(25 * HOUR),
  finishedAtNs: nsAgo(24 * HOUR),
});
const SETTINGS: Partial<Policy> = {
  maximumDeadContainersPerContainer: 0,
  minimumCreatedContainerAgeMs: 5 * MINUTE,
  minimumContainerTTLMs: 2 * MINUTE,
  maximumDeadContainerAgeMs: HOUR,
};
const decided = (profile: Policy['profile'], clockSteadySinceMs: number | null) =>
  decide(
    inventory({ containers: [created, exited], clockSteadySinceMs }),
    policy({ ...SETTINGS, profile, ...(profile === 'kubelet' && { maximumDeadContainerAgeMs: null }) }),
  );
const removed = (...args: Parameters<typeof decided>) => decided(...args).items.map(({ id }) => id);

describe('what was stamped a day ago by a clock that was set since', () => {
  test.each<{ name: string; sinceMs: number | null; goes: string[] }>([
    { name: 'before both of them', sinceMs: NOW - 48 * HOUR, goes: ['exited', 'created'] },
    {
      name: 'exactly the minimum age of its own ago [M32]',
      sinceMs: NOW - 5 * MINUTE,
      goes: ['created', 'exited'],
    },
    { name: 'a moment less ago', sinceMs: NOW - 5 * MINUTE + 1, goes: ['exited'] },
    { name: 'exactly the minimum age ago [M26]', sinceMs: NOW - 2 * MINUTE, goes: ['exited'] },
    { name: 'a moment less than that', sinceMs: NOW - 2 * MINUTE + 1, goes: [] },
    { name: 'now', sinceMs: NOW, goes: [] },
    { name: 'while the inventory was taken', sinceMs: NOW + SECOND, goes: [] },
    { name: 'at a time that nobody told', sinceMs: null, goes: [] },
  ])('goes by ages that count from then: $name', ({ sinceMs, goes }) => {
    expect(removed('fleetgc', sinceMs).toSorted()).toEqual(goes.toSorted());
  });

  test('[M27] is past its maximum age when it is so long ago that the clock was set', () => {
    const rulesAt = (sinceMs: number) =>
      decided('fleetgc', sinceMs).items.flatMap(({ id, rule }) => (id === 'exited' ? [rule] : []));
    expect(rulesAt(NOW - HOUR - 1)).toEqual(['M27']);
    expect(rulesAt(NOW - HOUR)).toEqual(['G7']);
  });

  test('[G3, G4] is as old as it says to the kubelet', () => {
    expect(removed('kubelet', NOW).toSorted()).toEqual(['created', 'exited']);
    expect(decided('kubelet', null).notBelieved).toEqual([]);
  });

  test('the record says that nobody told it, and how old each counts', () => {
    const { notBelieved, verdicts } = decided('fleetgc', null);
    expect(notBelieved).toMatchObject([{ rule: 'M26' }]);
    expect(ofKind(verdicts, 'container')).toMatchObject([
      { rule: 'M32', facts: { ageMs: 0 } },
      { rule: 'M26', facts: { ageMs: 0 } },
    ]);
  });
});

/** A container as its runtime stamps it, by the wall clock of that moment, with its true ages at the inventory. */
interface Stamped {
  readonly container: InventoryContainer;
  readonly createdAgoMs: number;
  readonly endedAgoMs: number | null;
}

const steps = fc.array(
  fc.record({ agoMs: fc.nat(2 * HOUR), byMs: fc.integer({ min: -48 * HOUR, max: 48 * HOUR }) }),
  {
    maxLength: 3,
  },
);
const births = fc.array(
  fc.record({
    agoMs: fc.nat(2 * HOUR),
    livedMs: fc.nat(2 * HOUR),
    state: fc.constantFrom<InventoryContainer['state']>('created', 'exited', 'exited', 'unknown'),
  }),
  { minLength: 1, maxLength: 6 },
);

test('[M26, M27, M32, G3] however often the clock is set, nothing goes before its true age', () => {
  fc.assert(
    fc.property(steps, births, (stepped, born) => {
      /** What the wall clock showed so long ago; it shows `NOW` at the inventory. */
      const shown = (agoMs: number): number =>
        NOW - agoMs - stepped.filter((one) => one.agoMs < agoMs).reduce((sum, { byMs }) => sum + byMs, 0);
      const containers = born.map(({ agoMs, livedMs, state }, index): Stamped => {
        const endedAgoMs = state === 'exited' ? Math.max(0, agoMs - livedMs) : null;
        const ns = (wallMs: number) => String(BigInt(Math.max(0, wallMs)) * 1_000_000n);
        return {
          createdAgoMs: agoMs,
          endedAgoMs,
          container: container(`c${index}`, {
            name: `n${index}`,
            state,
            createdAtNs: ns(shown(agoMs)),
            finishedAtNs: endedAgoMs === null ? null : ns(shown(endedAgoMs)),
          }),
        };
      });
      const lastStepAgoMs = Math.min(Number.POSITIVE_INFINITY, ...stepped.map(({ agoMs }) => agoMs));
      const given: Partial<CompleteInventory> = {
        takenAt: instant(),
        containers: containers.map((one) => one.container),
        clockSteadySinceMs: Number.isFinite(lastStepAgoMs) ? NOW - lastStepAgoMs : 0,
        pods: [gonePod('pod-1')],
      };
      const limits = { ...SETTINGS, maximumDeadContainersPerContainer: 0, maximumDeadContainers: 0 };
      const wrong = (pods: CompleteInventory['pods']) =>
        decide(inventory({ ...given, pods }), policy(limits)).items.filter(({ id, rule }) => {
          const stamped = containers.find((one) => one.container.id === id);
          return stamped === undefined || isTooYoung(stamped, rule);
        });
      expect(wrong([gonePod('pod-1')])).toEqual([]);
      expect(wrong([])).toEqual([]);
    }),
    runs(2_000),
  );
});

/** By its true age, whatever was stamped. A runtime whose stamps contradict each other has told no exit (M26). */
function isTooYoung({ container: stamped, createdAgoMs, endedAgoMs }: Stamped, rule: string): boolean {
  const { state, createdAtNs, finishedAtNs } = stamped;
  if (rule === 'M27') return (endedAgoMs ?? 0) <= HOUR;
  if (state === 'created' && createdAgoMs < 5 * MINUTE) return true;
  const isExitTold = finishedAtNs !== null && BigInt(finishedAtNs) >= BigInt(createdAtNs);
  return (isExitTold ? (endedAgoMs ?? 0) : createdAgoMs) < 2 * MINUTE;
}
