import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/container-gc/decide.ts';
import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import { container, gonePod, inventory } from '../../../fixtures/inventory.ts';
import { policy } from '../../../fixtures/policy.ts';
import { MINUTE, NOW, nsAgo } from '../../../fixtures/time.ts';
import { runs } from '../../../support/property-runs.ts';
import { arbitraryContainerNode, arbitraryContainerPolicy } from './arbitrary.ts';

const FAILED = { failures: 9, untilMs: NOW + 1 };
const isPicked =
  (seed: number) =>
  (_: unknown, position: number): boolean =>
    ((seed >> position) & 1) === 1;

describe('[G14, M17, M33] an object that failed to go', () => {
  test('costs no other object its place, except the sandbox that it stands in', () => {
    const stuck = fc.record({ containers: fc.nat(0xffff), sandboxes: fc.nat(0xff) });
    fc.assert(
      fc.property(arbitraryContainerNode, arbitraryContainerPolicy, stuck, (given, settings, seeds) => {
        const containers = given.containers.filter(isPicked(seeds.containers));
        const sandboxes = given.sandboxes.filter(isPicked(seeds.sandboxes));
        const ids = new Set([...containers, ...sandboxes].map(({ id }) => id));
        const occupied = new Set(containers.map(({ sandboxId }) => sandboxId));
        const left = decide(given, settings).items.filter(({ id }) => !ids.has(id) && !occupied.has(id));
        const withStuck = decide(failing(given, ids), settings).items.map(({ id }) => id);
        expect(left.map(({ id }) => id).filter((id) => !withStuck.includes(id))).toEqual([]);
      }),
      runs(1_000),
    );
  });

  test('takes no place in a full command', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 90 }),
        fc.array(fc.nat(89), { maxLength: 60 }),
        (count, stuck) => {
          const containers = Array.from({ length: count }, (_, index) =>
            container(`c${index}`, {
              createdAtNs: nsAgo((100 - index) * MINUTE),
              backoff: stuck.includes(index) ? FAILED : null,
            }),
          );
          const { items } = decide(inventory({ containers, pods: [gonePod('pod-1')] }), policy());
          const others = containers.filter(({ backoff }) => backoff === null).slice(0, 50);
          expect(items.map(({ id }) => id)).toEqual(others.map(({ id }) => id));
        },
      ),
      runs(200),
    );
  });
});

function failing(given: CompleteInventory, ids: ReadonlySet<string>): CompleteInventory {
  const failed = <T extends { readonly id: string }>(one: T): T =>
    ids.has(one.id) ? { ...one, backoff: FAILED } : one;
  return {
    ...given,
    containers: given.containers.map(failed),
    sandboxes: given.sandboxes.map(failed),
  };
}
