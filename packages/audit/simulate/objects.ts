import type { FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type {
  CompleteInventory,
  ImageUser,
  InventoryImage,
  InventoryPod,
} from '../../../schemas/events/inventory.ts';
import { ObjectKind, type ObjectList } from '../../../schemas/events/object-kinds.ts';
import type { ObjectResult, Removed } from '../../../schemas/events/result.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import { freedSpace, knownBytes } from '../../decision/freed-space.ts';
import { type EntryOf, entriesOf, idOf, nameOf } from '../../decision/inventory-entries.ts';
import { isAfter, objectKey } from '../events/log-position.ts';
import type { RegrettedImage } from './compare.ts';
import {
  type Effect,
  imageEffect,
  measuredEffect,
  type Shift,
  shiftedReadings,
  shiftOf,
} from './pressure.ts';

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
export class SimulatedObjects {
  readonly #regretWindowMs: number;
  readonly #gone = new Map<string, Gone>();
  readonly #stays = new Map<string, Stays>();
  readonly #reallyWent = new Map<string, Went>();
  readonly #regretted: RegrettedImage[] = [];
  readonly #use = createImageUse((user) => this.#gone.get(objectKey(user))?.wallTimeMs ?? null);
  #listed: ReadonlyMap<string, ListedObject> = new Map();
  #pods: ReadonlyMap<string, InventoryPod> = new Map();
  #estimatedFromMs: number | null = null;

  constructor(regretWindowMs: number) {
    this.#regretWindowMs = regretWindowMs;
  }

  /** A recorded inventory, before anything is decided on it. */
  follow(inventory: CompleteInventory, atMs: number): void {
    this.#listed = objectsIn(inventory);
    this.#pods = new Map(inventory.pods.map((pod) => [pod.uid, pod]));
    for (const one of [...this.#reallyWent.values(), ...this.#stays.values()])
      one.pod = this.#podOf(one.object) ?? one.pod;
    this.#use.follow(inventory.images);
    for (const [key, one] of this.#gone) this.#followGone(key, one, atMs);
    for (const [key, went] of this.#reallyWent) this.#followWent(key, went, inventory.takenAt);
    this.#forget(atMs);
  }

  /** An object that really went, and what that freed. */
  wentAway({ object: named, at }: ObjectResult, effect: Effect | null, atMs: number): void {
    const object = this.#listed.get(objectKey(named));
    if (object === undefined) return;
    const went = { object, effect, uses: this.#usesOf(object), pod: this.#podOf(object), at, atMs };
    this.#reallyWent.set(objectKey(named), went);
  }

  /** As listed, or as it was when it really went; `undefined` where it is not there. */
  find(named: Parameters<typeof objectKey>[0]): ListedObject | undefined {
    return this.#listed.get(objectKey(named)) ?? this.#stays.get(objectKey(named))?.object;
  }

  /** Takes away what a simulated command names. */
  remove(object: ListedObject, effect: Effect | null, at: Pick<Gone, 'atMs' | 'wallTimeMs'>): void {
    const key = objectKey(object);
    this.#gone.set(key, { object, effect, ...at, goneInReality: !this.#listed.has(key) });
    this.#stays.delete(key);
  }

  alteration(): Alteration {
    const absent = [...this.#gone].filter(([key]) => this.#listed.has(key));
    const kept = [...this.#stays.values()];
    return {
      absent: new Set(absent.map(([key]) => key)),
      extra: kept.map(({ object }) => object),
      extraPods: goneOf(kept, this.#pods),
      asUsed: (image) => withUsers(this.#use.altered(image), kept),
      freed: absent.flatMap(([, { effect }]) => effect ?? []),
      held: kept.flatMap(({ effect }) => effect ?? []),
    };
  }

  told() {
    this.#compareUnseen();
    return { regretted: this.#regretted, estimatedFromMs: this.#estimatedFromMs };
  }

  #differsFrom(atMs: number): void {
    this.#estimatedFromMs = Math.min(this.#estimatedFromMs ?? atMs, atMs);
  }

  #followGone(key: string, one: Gone, atMs: number): void {
    const there = this.#listed.get(key);
    if (there === undefined) one.goneInReality = true;
    else if (one.goneInReality || this.#isInUse(there, one)) this.#neededAgain(key, one, atMs);
    else if (atMs - one.atMs > SETTLED_MS) this.#differsFrom(one.atMs);
  }

  #isInUse(object: ListedObject, { wallTimeMs }: Gone): boolean {
    switch (object.kind) {
      case 'image':
        return isUsedSince(this.#use.altered(object.entry), wallTimeMs);
      case 'container':
        return object.entry.state === 'running';
      case 'sandbox':
        return object.entry.state === 'ready';
      case 'pod-log-directory':
      case 'log-symlink':
        return false;
    }
  }

  #neededAgain(key: string, { object, atMs, goneInReality }: Gone, neededAtMs: number): void {
    this.#gone.delete(key);
    if (!goneInReality) this.#differsFrom(atMs);
    if (object.kind !== 'image' || neededAtMs - atMs > this.#regretWindowMs) return;
    const { id, sizeBytes } = object.entry;
    const name = nameOf('image', object.entry);
    this.#regretted.push({ imageId: id, name, sizeBytes, removedAtMs: atMs, neededAtMs });
  }

  #followWent(key: string, { at, atMs, ...went }: Went, takenAt: Instant): void {
    const isListed = this.#listed.has(key);
    if (isListed && !isAfter(takenAt, at)) return;
    this.#reallyWent.delete(key);
    if (isListed || this.#gone.has(key)) return;
    this.#stays.set(key, went);
    this.#differsFrom(atMs);
  }

  #forget(atMs: number): void {
    for (const key of this.#listed.keys()) this.#stays.delete(key);
    for (const [key, one] of this.#gone)
      if (one.goneInReality && atMs - one.atMs > this.#regretWindowMs) this.#gone.delete(key);
  }

  #usesOf(object: ListedObject): string[] {
    return [...this.#listed.values()].flatMap((other) =>
      other.kind === 'image' && isUser(object, other.entry) ? [other.id] : [],
    );
  }

  #podOf(object: ListedObject): InventoryPod | null {
    return this.#pods.get(podUidOf(object) ?? '') ?? null;
  }

  /** At the end, when no inventory comes any more that could show what went: results tell what did. */
  #compareUnseen(): void {
    const goneAlone = [...this.#gone].filter(
      ([key, { goneInReality }]) => !goneInReality && !this.#reallyWent.has(key),
    );
    const wentAlone = [...this.#reallyWent].filter(([key]) => !this.#gone.has(key));
    for (const [, { atMs }] of [...goneAlone, ...wentAlone]) this.#differsFrom(atMs);
  }
}

/** A UID never comes back, so what was gone is; of other pods that are not listed any more nobody knows. */
const goneOf = (kept: readonly Stays[], listed: ReadonlyMap<string, InventoryPod>): InventoryPod[] => [
  ...new Map(
    kept.flatMap(({ pod }) =>
      pod?.state === 'gone' && !listed.has(pod.uid) ? [[pod.uid, pod] as const] : [],
    ),
  ).values(),
];

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

/** An image that is unused in the simulation alone. */
interface Unused {
  /** By the node's wall clock. */
  readonly sinceMs: number;
  /** The recorded time of last use that follows from what is gone in the simulation. */
  readonly heldUntilMs: number;
  /** What is gone in the simulation still holds it on the real node. */
  readonly isHeld: boolean;
}

/** Who uses images and since when nobody does, on a node where some users are gone that the real one has still. */
function createImageUse(goneAtMs: (user: ImageUser) => number | null) {
  const unused = new Map<string, Unused>();

  const stillThere = ({ usedBy }: InventoryImage): readonly ImageUser[] =>
    usedBy.filter((user) => goneAtMs(user) === null);

  const followImage = (image: InventoryImage): void => {
    const { id, usedBy } = image;
    const before = unused.get(id);
    const heldUntilMs = image.lastUsedMs ?? 0;
    if (stillThere(image).length > 0) unused.delete(id);
    else if (usedBy.length > 0) {
      const sinceMs = Math.max(...usedBy.map((user) => goneAtMs(user) ?? 0));
      unused.set(id, { sinceMs, heldUntilMs, isHeld: true });
    } else if (before?.isHeld) unused.set(id, { ...before, heldUntilMs, isHeld: false });
    else if (before !== undefined && heldUntilMs > before.heldUntilMs) unused.delete(id);
  };

  return {
    follow: (images: readonly InventoryImage[]): void => {
      for (const image of images) followImage(image);
    },
    /** The image as it would be listed. */
    altered: (image: InventoryImage): InventoryImage => {
      const known = unused.get(image.id);
      const usedBy = [...stillThere(image)];
      if (known === undefined || usedBy.length > 0) return { ...image, usedBy };
      return { ...image, usedBy, lastUsedMs: image.lastUsedMs && Math.min(image.lastUsedMs, known.sinceMs) };
    },
  };
}

/** An object as an inventory lists it. */
type ListedObject = { [Kind in ObjectKind]: ListedOf<Kind> }[ObjectKind];

interface ListedOf<Kind extends ObjectKind> {
  readonly kind: Kind;
  readonly id: string;
  readonly entry: EntryOf<Kind>;
}

const listedOf = <Kind extends ObjectKind>(inventory: CompleteInventory, kind: Kind): ListedOf<Kind>[] =>
  entriesOf(inventory, kind).map((entry) => ({ kind, id: idOf(kind, entry), entry }));

/** Users of images before the images, by their keys. */
const objectsIn = (inventory: CompleteInventory): ReadonlyMap<string, ListedObject> =>
  new Map(
    ObjectKind.options
      .flatMap((kind): readonly ListedObject[] => LISTED[kind](inventory))
      .map((object) => [objectKey(object), object]),
  );

const LISTED: { readonly [Kind in ObjectKind]: (inventory: CompleteInventory) => ListedOf<Kind>[] } = {
  container: (inventory) => listedOf(inventory, 'container'),
  sandbox: (inventory) => listedOf(inventory, 'sandbox'),
  'pod-log-directory': (inventory) => listedOf(inventory, 'pod-log-directory'),
  'log-symlink': (inventory) => listedOf(inventory, 'log-symlink'),
  image: (inventory) => listedOf(inventory, 'image'),
};

/** Of which pod it is; `null` of images and symlinks. */
function podUidOf(object: ListedObject): string | null {
  switch (object.kind) {
    case 'container':
      return object.entry.pod?.uid ?? null;
    case 'sandbox':
    case 'pod-log-directory':
      return object.entry.podUid;
    case 'image':
    case 'log-symlink':
      return null;
  }
}

/** How a simulated node differs from the recorded one. */
interface Alteration {
  /** Listed, but gone; by their keys. */
  readonly absent: ReadonlySet<string>;
  /** Not listed, but there. */
  readonly extra: readonly ListedObject[];
  /** Pods of what is there that are gone and not listed any more. */
  readonly extraPods: readonly InventoryPod[];
  /** An image with those who use it in the simulation. */
  readonly asUsed: (image: InventoryImage) => InventoryImage;
  /** By what is gone, and not to be had because of what is there. */
  readonly freed: readonly Effect[];
  readonly held: readonly Effect[];
}

export const shiftBy = (
  { freed, held }: Alteration,
  { filesystems }: Pick<CompleteInventory, 'filesystems'>,
): Shift => shiftOf(freed, held, filesystems);

/** The inventory as the simulated node would have taken it, without a reclaim. */
export function altered(inventory: CompleteInventory, alteration: Alteration): CompleteInventory {
  const { absent, extra, extraPods, asUsed } = alteration;
  const isContainer = (id: string): boolean => !absent.has(objectKey({ kind: 'container', id }));
  const thereOf = <Kind extends ObjectKind>(kind: Kind): readonly EntryOf<Kind>[] =>
    entriesOf(inventory, kind).filter((entry) => !absent.has(objectKey({ kind, id: idOf(kind, entry) })));
  const lists: Pick<CompleteInventory, ObjectList> = {
    containers: [
      ...thereOf('container'),
      ...extra.flatMap((object) => (object.kind === 'container' ? [untried(object.entry)] : [])),
    ],
    sandboxes: [
      ...thereOf('sandbox'),
      ...extra.flatMap((object) => (object.kind === 'sandbox' ? [untried(object.entry)] : [])),
    ],
    podLogDirectories:
      inventory.podLogDirectories &&
      [
        ...thereOf('pod-log-directory'),
        ...extra.flatMap((object) => (object.kind === 'pod-log-directory' ? [untried(object.entry)] : [])),
      ].toSorted(byName),
    logSymlinks:
      inventory.logSymlinks &&
      [
        ...thereOf('log-symlink'),
        ...extra.flatMap((object) => (object.kind === 'log-symlink' ? [untried(object.entry)] : [])),
      ].toSorted(byName),
    images: [
      ...thereOf('image'),
      ...extra.flatMap((object) => (object.kind === 'image' ? [unlayered(object.entry)] : [])),
    ].map(asUsed),
  };
  return {
    ...inventory,
    ...lists,
    reclaim: null,
    pods: [...inventory.pods, ...extraPods],
    containersWithoutImage: inventory.containersWithoutImage.filter(isContainer),
    diedContainerIds: inventory.diedContainerIds.filter(isContainer),
    filesystems: shiftedReadings(inventory.filesystems, shiftBy(alteration, inventory)),
  };
}

/** Every removal succeeds, so that none failed of what really went. */
const untried = <Entry extends object>(entry: Entry): Entry & { readonly backoff: null } => ({
  ...entry,
  backoff: null,
});

/** Its layers are positions in another list, and who used it has gone on without it. */
const unlayered = (image: InventoryImage): InventoryImage => ({
  ...untried(image),
  layers: null,
  usedBy: [],
});

const byName = ({ name: a }: { readonly name: string }, { name: b }: { readonly name: string }): number =>
  compareText(a, b);

/** What an object that really went would still take up. */
export function keptEffect(
  object: ListedObject,
  { measured, estimatedBytes }: Removed,
  filesystems: FilesystemReadings,
): Effect | null {
  if (object.kind !== 'image') return measuredEffect(freedSpace(measured, null));
  const bytes = knownBytes(freedSpace(measured, estimatedBytes)) ?? 0n;
  return imageEffect(bytes > 0n ? bytes : BigInt(object.entry.sizeBytes), filesystems);
}
