/**
 * The least that a collector written by hand does with parsed facts: it leaves out what may not go, sorts, and adds up. It
 * doubts nothing, names no reason, and says nothing of what stays.
 */
import { MAX_COMMAND_ITEMS } from '../../../../schemas/events/command.ts';
import type { Verdict } from '../../../../schemas/events/decision.ts';
import type {
  CompleteInventory,
  InventoryContainer,
  InventorySandbox,
} from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';

/** Ids of the images that go, least recently used first, until what is missing is freed. */
export function plainImages(
  { images, filesystems, reclaim, takenAt }: CompleteInventory,
  { imageMinimumGCAgeMs }: Policy,
): string[] {
  const bornBeforeMs = takenAt.wallTimeMs - imageMinimumGCAgeMs;
  const missing = Number(reclaim?.target.atLeast) - Number(filesystems.imagefs?.availableBytes);
  const unused = images
    .filter(
      ({ usedBy, pinned, firstDetectedMs, repoDigests }) =>
        usedBy.length === 0 && !pinned && firstDetectedMs <= bornBeforeMs && repoDigests.length > 0,
    )
    .sort((a, b) => (a.lastUsedMs ?? 0) - (b.lastUsedMs ?? 0));
  const going: string[] = [];
  let freed = 0;
  for (const { id, sizeBytes } of unused) {
    if (freed >= missing || going.length === MAX_COMMAND_ITEMS) break;
    freed += sizeBytes;
    going.push(id);
  }
  return going;
}

/** What a loop gives that also answers for every object. */
export interface Answered {
  readonly going: readonly string[];
  readonly isListedTwice: boolean;
  readonly verdicts: readonly Verdict[];
}

/** The same loop, which looks besides whether an id is listed twice, and has a verdict with a fact for every object. */
export const answering =
  (plain: (inventory: CompleteInventory, policy: Policy) => readonly string[], of: keyof typeof OBJECTS_OF) =>
  (inventory: CompleteInventory, policy: Policy): Answered => {
    const going = plain(inventory, policy);
    const goes = new Set(going);
    const names = OBJECTS_OF[of](inventory);
    const kind = of === 'images' ? 'image' : 'container';
    const verdicts = names.map(
      (name, position): Verdict => ({
        action: goes.has(name) ? 'remove' : 'keep',
        facts: { lastUsedMs: position },
        kind,
        position,
        rule: goes.has(name) ? 'D11' : 'D6',
      }),
    );
    return { going, isListedTwice: new Set(names).size < names.length, verdicts };
  };

const idOf = ({ id }: { readonly id: string }): string => id;

const OBJECTS_OF = {
  images: ({ images }: CompleteInventory): readonly string[] => images.map(idOf),
  containers: ({ containers, sandboxes, podLogDirectories }: CompleteInventory): readonly string[] => [
    ...containers.map(idOf),
    ...sandboxes.map(idOf),
    ...(podLogDirectories ?? []).map(({ name }) => name),
  ],
};

/** Ids of dead containers, of sandboxes that nothing needs any more, and names of log directories of pods that are gone. */
export function plainContainers(
  { containers, sandboxes, pods, podLogDirectories }: CompleteInventory,
  { maximumDeadContainersPerContainer }: Policy,
): string[] {
  const gone = new Set(pods.filter(({ state }) => state === 'gone').map(({ uid }) => uid));
  const going = deadContainers(containers, gone, maximumDeadContainersPerContainer);
  const goes = new Set(going);
  const idle = idleSandboxes(sandboxes, gone);
  for (const container of containers) if (!goes.has(container)) idle.delete(container.sandboxId);
  return [
    ...going.map(({ id }) => id),
    ...idle,
    ...(podLogDirectories ?? []).filter(({ podUid }) => gone.has(podUid)).map(({ name }) => name),
  ].slice(0, MAX_COMMAND_ITEMS);
}

/** Not ready, and of a pod that is gone or has a newer one. */
function idleSandboxes(sandboxes: readonly InventorySandbox[], gone: ReadonlySet<string>): Set<string> {
  const newest = new Map<string, string>();
  for (const { podUid, createdAtNs } of sandboxes)
    if (createdAtNs > (newest.get(podUid) ?? '')) newest.set(podUid, createdAtNs);
  const idle = new Set<string>();
  for (const { id, podUid, state, createdAtNs } of sandboxes)
    if (state !== 'ready' && (gone.has(podUid) || newest.get(podUid) !== createdAtNs)) idle.add(id);
  return idle;
}

interface Dead {
  readonly container: InventoryContainer;
  readonly createdAt: number;
}

/** Those of pods that are gone, and then those beyond the newest of each unit, oldest first. */
function deadContainers(
  containers: readonly InventoryContainer[],
  gone: ReadonlySet<string>,
  keptOfUnit: number,
): InventoryContainer[] {
  const units = new Map<string, Dead[]>();
  const ofGone: Dead[] = [];
  for (const container of containers) {
    const { name, pod, state, createdAtNs } = container;
    if (state === 'running' || pod === null) continue;
    const fellows = gone.has(pod.uid) ? ofGone : unitIn(units, pod.uid + name);
    fellows.push({ container, createdAt: Number(createdAtNs) });
  }
  const beyond: Dead[] = [];
  for (const unit of units.values())
    if (unit.length > keptOfUnit) beyond.push(...unit.sort(oldestFirst).slice(0, unit.length - keptOfUnit));
  return [...ofGone.sort(oldestFirst), ...beyond.sort(oldestFirst)]
    .slice(0, MAX_COMMAND_ITEMS)
    .map(({ container }) => container);
}

function unitIn(units: Map<string, Dead[]>, key: string): Dead[] {
  const found = units.get(key);
  if (found !== undefined) return found;
  const unit: Dead[] = [];
  units.set(key, unit);
  return unit;
}

const oldestFirst = (a: Dead, b: Dead): number => a.createdAt - b.createdAt;
