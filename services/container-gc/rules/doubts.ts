import type { Doubt } from '../../../packages/decision/conclusion.ts';
import { doubtAbout, listedTwice } from '../../../packages/decision/listing.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { NS_PER_MS } from './age.ts';

/** Facts that keep the objects they are about. */
export function doubts(inventory: CompleteInventory, { profile }: Pick<Policy, 'profile'>): Doubt[] {
  const { containers, sandboxes, pods, diedContainerIds, takenAt, clockSteadySinceMs } = inventory;
  const nowNs = BigInt(takenAt.wallTimeMs) * NS_PER_MS;
  const dead = [
    ...containers.filter(({ state }) => state !== 'running'),
    ...sandboxes.filter(({ state }) => state !== 'ready'),
  ];
  const fromTheFuture = dead.filter(({ createdAtNs }) => BigInt(createdAtNs) > nowNs);
  const listed = new Set(diedContainerIds.length === 0 ? [] : containers.map(({ id }) => id));
  return [
    ...doubtAbout('C5', twice(containers), 'container id(s) are listed more than once and kept'),
    ...doubtAbout('C5', twice(sandboxes), 'sandbox id(s) are listed more than once and kept'),
    ...doubtAbout(
      'A8',
      [...listedTwice(pods.map(({ uid }) => uid))],
      'pod UID(s) are listed more than once and count as unknown',
    ),
    ...doubtAbout(
      'G3',
      ids(fromTheFuture),
      'container(s) or sandbox(es) were created after the inventory was taken; their age is not believed',
    ),
    ...doubtAbout(
      'G25',
      diedContainerIds.filter((id) => !listed.has(id)),
      'container(s) that died are not listed and select nothing',
    ),
    ...(clockSteadySinceMs === null && profile === 'fleetgc' ? [CLOCK_UNKNOWN] : []),
  ];
}

const CLOCK_UNKNOWN: Doubt = {
  rule: 'M26',
  message: 'it is not told since when nobody has set the clock of the node: no container has any age',
};

const ids = (objects: readonly { readonly id: string }[]): string[] => objects.map(({ id }) => id);

const twice = (objects: readonly { readonly id: string }[]): string[] => [...listedTwice(ids(objects))];
