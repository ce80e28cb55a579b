import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import { compareText } from '../../../../schemas/events/text-order.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import type { Doubt, Note } from '../../../decision/conclusion.ts';
import { doubtAbout, listedTwice } from '../../../decision/inventory-checks.ts';
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

/** Units of which more than one container runs: nobody reconciles them, and none of them is touched (M30). */
export function runningTwice({ containers }: CompleteInventory): Note[] {
  const running = containers.flatMap(({ id, name, state, pod }) =>
    state === 'running' && pod !== null && name !== '' ? [{ id, name, pod }] : [],
  );
  const units = Map.groupBy(running, ({ pod }) => pod.uid)
    .values()
    .filter(({ length }) => length > 1)
    .flatMap((ofPod) => Map.groupBy(ofPod, ({ name }) => name).values());
  return [...units]
    .filter((members) => new Set(members.map(({ id }) => id)).size > 1)
    .map(([first, ...others]) => sentence(first, [first, ...others]))
    .toSorted((a, b) => compareText(a.message, b.message));
}

type Running = {
  readonly id: string;
  readonly name: string;
  readonly pod: { readonly namespace: string; readonly name: string };
};

function sentence(first: Running | undefined, members: readonly (Running | undefined)[]): Note {
  const ids = members.flatMap((member) => member?.id ?? []).toSorted(compareText);
  const unit = first ? `${first.pod.namespace}/${first.pod.name}/${first.name}` : '';
  return {
    rule: 'M30',
    message: `${ids.length} containers of ${unit} run at the same time: ${ids.join(', ')}`,
  };
}
