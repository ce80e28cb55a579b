import { nameOf } from '../../../packages/decision/listed-objects.ts';
import type {
  CompleteInventory,
  ImageUser,
  InventoryImage,
  InventoryPod,
} from '../../../schemas/events/inventory.ts';
import type { ObjectResult } from '../../../schemas/events/result.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import { isAfter, objectKey } from '../events/identity.ts';
import type { Alteration } from './altered-inventory.ts';
import { createImageUse } from './image-use.ts';
import { type ListedObject, objectsIn, podUidOf } from './listed-objects.ts';
import type { RegrettedImage } from './side.ts';
import type { Effect } from './space-effects.ts';

/** An object that went in the simulation. */
interface Gone {
  readonly object: ListedObject;
  /** `null`: nobody knows what that freed. */
  readonly effect: Effect | null;
  readonly atMs: number;
  /** By the node's wall clock, as times of use are. */
  readonly wallTimeMs: number;
  /** The real node does not have it any more either. */
  goneInReality: boolean;
}

/** An object that the real node removed and the simulated one has still. */
interface Stays {
  readonly object: ListedObject;
  readonly effect: Effect | null;
  /** Images that it uses. */
  readonly uses: readonly string[];
  /** As it was listed last; `null` where it has none, or none was listed. */
  pod: InventoryPod | null;
}

/** An object that really went, until an inventory shows it. */
interface Went extends Stays {
  readonly at: Instant;
  readonly atMs: number;
}

/** Real removals show in an inventory soon; one that does not is a difference. */
const SETTLED_MS = 5 * 60_000;

/**
 * The objects of one node as they would be. It follows the recorded inventories: what went stays away until the real node
 * uses it or has it anew, and what really went and would have stayed takes up its space until then.
 */
export function createSimulatedObjects(regretWindowMs: number) {
  const gone = new Map<string, Gone>();
  const stays = new Map<string, Stays>();
  const reallyWent = new Map<string, Went>();
  const regretted: RegrettedImage[] = [];
  const use = createImageUse((user) => gone.get(objectKey(user))?.wallTimeMs ?? null);
  let listed: ReadonlyMap<string, ListedObject> = new Map();
  let pods: ReadonlyMap<string, InventoryPod> = new Map();
  let estimatedFromMs: number | null = null;

  const differsFrom = (atMs: number): void => {
    estimatedFromMs = Math.min(estimatedFromMs ?? atMs, atMs);
  };

  const neededAgain = (key: string, { object, atMs, goneInReality }: Gone, neededAtMs: number): void => {
    gone.delete(key);
    if (!goneInReality) differsFrom(atMs);
    if (object.kind !== 'image' || neededAtMs - atMs > regretWindowMs) return;
    const { id, sizeBytes } = object.entry;
    const name = nameOf('image', object.entry);
    regretted.push({ imageId: id, name, sizeBytes, removedAtMs: atMs, neededAtMs });
  };

  const isInUse = (object: ListedObject, { wallTimeMs }: Gone): boolean => {
    if (object.kind === 'image') return isUsedSince(use.altered(object.entry), wallTimeMs);
    if (object.kind === 'container') return object.entry.state === 'running';
    return object.kind === 'sandbox' && object.entry.state === 'ready';
  };

  const followGone = (key: string, one: Gone, atMs: number): void => {
    const there = listed.get(key);
    if (there === undefined) one.goneInReality = true;
    else if (one.goneInReality || isInUse(there, one)) neededAgain(key, one, atMs);
    else if (atMs - one.atMs > SETTLED_MS) differsFrom(one.atMs);
  };

  const followWent = (key: string, { at, atMs, ...went }: Went, takenAt: Instant): void => {
    const isListed = listed.has(key);
    if (isListed && !isAfter(takenAt, at)) return;
    reallyWent.delete(key);
    if (isListed || gone.has(key)) return;
    stays.set(key, went);
    differsFrom(atMs);
  };

  const forget = (atMs: number): void => {
    for (const key of listed.keys()) stays.delete(key);
    for (const [key, one] of gone)
      if (one.goneInReality && atMs - one.atMs > regretWindowMs) gone.delete(key);
  };

  const usesOf = (object: ListedObject): string[] =>
    [...listed.values()].flatMap((other) =>
      other.kind === 'image' && isUser(object, other.entry) ? [other.id] : [],
    );

  const podOf = (object: ListedObject): InventoryPod | null => pods.get(podUidOf(object) ?? '') ?? null;

  /** A UID never comes back, so what was gone is; of other pods that are not listed any more nobody knows. */
  const goneOf = (kept: readonly Stays[]): InventoryPod[] => [
    ...new Map(
      kept.flatMap(({ pod }) =>
        pod?.state === 'gone' && !pods.has(pod.uid) ? [[pod.uid, pod] as const] : [],
      ),
    ).values(),
  ];

  /** At the end, when no inventory comes any more that could show what went: results tell what did. */
  const compareUnseen = (): void => {
    const goneAlone = [...gone].filter(([key, { goneInReality }]) => !goneInReality && !reallyWent.has(key));
    const wentAlone = [...reallyWent].filter(([key]) => !gone.has(key));
    for (const [, { atMs }] of [...goneAlone, ...wentAlone]) differsFrom(atMs);
  };

  return {
    /** A recorded inventory, before anything is decided on it. */
    follow: (inventory: CompleteInventory, atMs: number): void => {
      listed = objectsIn(inventory);
      pods = new Map(inventory.pods.map((pod) => [pod.uid, pod]));
      for (const one of [...reallyWent.values(), ...stays.values()]) one.pod = podOf(one.object) ?? one.pod;
      use.follow(inventory.images);
      for (const [key, one] of gone) followGone(key, one, atMs);
      for (const [key, went] of reallyWent) followWent(key, went, inventory.takenAt);
      forget(atMs);
    },
    /** An object that really went, and what that freed. */
    wentAway: ({ object: named, at }: ObjectResult, effect: Effect | null, atMs: number): void => {
      const object = listed.get(objectKey(named));
      if (object === undefined) return;
      const went = { object, effect, uses: usesOf(object), pod: podOf(object), at, atMs };
      reallyWent.set(objectKey(named), went);
    },
    /** As listed, or as it was when it really went; `undefined` where it is not there. */
    find: (named: Parameters<typeof objectKey>[0]): ListedObject | undefined =>
      listed.get(objectKey(named)) ?? stays.get(objectKey(named))?.object,
    /** Takes away what a simulated command names. */
    remove: (object: ListedObject, effect: Effect | null, at: { atMs: number; wallTimeMs: number }): void => {
      const key = objectKey(object);
      gone.set(key, { object, effect, ...at, goneInReality: !listed.has(key) });
      stays.delete(key);
    },
    alteration: (): Alteration => {
      const absent = [...gone].filter(([key]) => listed.has(key));
      const kept = [...stays.values()];
      return {
        absent: new Set(absent.map(([key]) => key)),
        extra: kept.map(({ object }) => object),
        extraPods: goneOf(kept),
        asUsed: (image) => withUsers(use.altered(image), kept),
        freed: absent.flatMap(([, { effect }]) => effect ?? []),
        held: kept.flatMap(({ effect }) => effect ?? []),
      };
    },
    told: () => {
      compareUnseen();
      return { regretted, estimatedFromMs };
    },
  };
}

const isUsedSince = ({ usedBy, lastUsedMs }: InventoryImage, wallTimeMs: number): boolean =>
  usedBy.length > 0 || (lastUsedMs ?? 0) > wallTimeMs;

const isUser = ({ kind, id }: ListedObject, { usedBy }: InventoryImage): boolean =>
  usedBy.some((user) => user.kind === kind && user.id === id);

/** What the real node removed may use it still. */
function withUsers(image: InventoryImage, stays: readonly Stays[]): InventoryImage {
  const users = stays.flatMap(({ object: { kind, id }, uses }): readonly ImageUser[] =>
    (kind === 'container' || kind === 'sandbox') && uses.includes(image.id) ? [{ kind, id }] : [],
  );
  return users.length === 0 ? image : { ...image, usedBy: [...image.usedBy, ...users] };
}
