import { decide } from '../../../../packages/deciders/container-gc/decide.ts';
import type { CompleteInventory, InventoryContainer } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { container, inventory, pod } from '../../../fixtures/inventory.ts';
import { policy } from '../../../fixtures/policy.ts';
import { MINUTE, nsAgo } from '../../../fixtures/time.ts';
import { ofKind } from '../../../fixtures/verdicts.ts';

/** A dead container of that unit, so many minutes old. */
export const dead = (
  id: string,
  uid: string,
  minutesOld: number,
  overrides: Partial<InventoryContainer> = {},
) =>
  container(id, {
    pod: { uid, name: uid, namespace: 'default' },
    createdAtNs: nsAgo(minutesOld * MINUTE),
    ...overrides,
  });

/** What is decided of these containers; their pods are known, and running without init containers. */
export const decided = (
  containers: readonly InventoryContainer[],
  overrides: Partial<CompleteInventory> = {},
  settings: Partial<Policy> = {},
) =>
  decide(
    inventory({ containers: [...containers], pods: podsOf(containers), ...overrides }),
    policy(settings),
  );

const podsOf = (containers: readonly InventoryContainer[]): CompleteInventory['pods'] =>
  [...new Set(containers.flatMap((one) => one.pod?.uid ?? []))].map((uid) => pod(uid));

/** Ids of what goes, in order. */
export const removed = (...args: Parameters<typeof decided>): string[] =>
  decided(...args).items.map(({ id }) => id);

/** What becomes of each container, and by which rule. */
export const rules = (...args: Parameters<typeof decided>): string[] =>
  ofKind(decided(...args).verdicts, 'container').map(({ action, rule }) => `${action} ${rule}`);

/** No container is protected by being the newest of its unit. */
export const KEEP_NONE = { maximumDeadContainersPerContainer: 0 } as const;
