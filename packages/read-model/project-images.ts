import type { CompleteInventory, InventoryImage } from '../../schemas/events/inventory.ts';
import { tagsByRepository } from '../../schemas/policy/image-pattern.ts';
import { type Contents, contentsOf } from '../deciders/image-gc/rules/contents.ts';
import { listedTwice } from '../decision/inventory-checks.ts';
import { nameOf } from '../decision/inventory-entries.ts';
import { boundedText, type HeldGroup, type HeldImage, type HeldImages, type HeldSums } from './rows.ts';

/** An image of more namespaces counts for the first of them, and for the others as one. */
const MOST_NAMESPACES = 50;
/** No node has pods of so many. */
const MOST_GROUPS = 2_000;
/** Each layer of an image is looked at for each of its namespaces. Nodes take a thousandth of it. */
const MOST_LOOKS = 2_000_000;
/** As Kubernetes has it. */
const MOST_NAMESPACE_LENGTH = 253;
const OTHERS = '(other namespaces)';
const NONE = -1;
const SEVERAL = -2;
const NO_NAME = '(no name)';
const NOBODY = '(nobody)';
/** What the runtime itself holds, or containers that belong to no pod. */
const NO_POD = '(no pod)';

/**
 * What the images of a node take: of all of them, of each repository, and of each namespace. Layers that images have in common count
 * once; where a node tells of no layers, an image counts with its listed size, as in a plan.
 */
export function heldImages(inventory: CompleteInventory): HeldImages {
  const { images } = inventory;
  const contents = eachPieceOnce(
    contentsOf(inventory, { profile: 'fleetgc' }, listedTwice(images.map(({ id }) => id))),
  );
  const listed = images.map(heldImage);
  return {
    images: listed,
    sums: sumsOf(contents, images),
    repositories: groupsOf(
      contents,
      images,
      listed.map(({ repository }) => [repository]),
    ),
    namespaces: groupsOf(contents, images, namespacesOf(inventory, contents)),
    hasLayers: inventory.layers !== null,
  };
}

type Known = { readonly inventory: CompleteInventory } | { readonly held: HeldImages };

/** The same, worked out once, when it is asked for; then the inventory is let go. */
export function onceHeld(inventory: CompleteInventory): () => HeldImages {
  const known: { now: Known } = { now: { inventory } };
  return () => {
    const { now } = known;
    const held = 'held' in now ? now.held : heldImages(now.inventory);
    known.now = { held };
    return held;
  };
}

const heldImage = (image: InventoryImage): HeldImage => ({
  id: boundedText(image.id),
  name: boundedText(nameOf('image', image)),
  repository: repositoryOf(image),
  sizeBytes: image.sizeBytes,
  users: image.usedBy.length,
  lastUsedMs: image.lastUsedMs,
  pinned: image.pinned,
});

/** Of its first name: an image of several repositories counts once. */
function repositoryOf(image: InventoryImage): string {
  const repoTags = image.repoTags.slice(0, 1);
  const repoDigests = repoTags.length > 0 ? [] : image.repoDigests.slice(0, 1);
  const [repository] = tagsByRepository({ ...image, repoTags, repoDigests }).keys();
  return boundedText(repository ?? NO_NAME);
}

/** An image that names a layer twice has it once. */
function eachPieceOnce({ pieces, bytes }: Contents): Contents {
  const seenAt = new Int32Array(bytes.length).fill(NONE);
  const isNew = (piece: number, position: number): boolean => {
    const before = seenAt[piece];
    seenAt[piece] = position;
    return before !== position;
  };
  return {
    pieces: pieces.map((ofImage, position) => ofImage.filter((piece) => isNew(piece, position))),
    bytes,
  };
}

/** By the position of each image, whose pods use it. What would take too long to count apart counts for the others together. */
function namespacesOf(
  { images, containers, sandboxes }: CompleteInventory,
  { pieces }: Contents,
): readonly (readonly string[])[] {
  const known = new Map<string, string>();
  for (const { id, pod } of [...containers, ...sandboxes]) {
    if (pod === null) continue;
    known.set(id, pod.namespace);
    known.set(pod.uid, pod.namespace);
  }
  const told = new Namespaces();
  return images.map(({ usedBy }, position) => {
    const namespaces = new Set(usedBy.map(({ id }) => known.get(id) ?? NO_POD));
    return namespaces.size === 0 ? [NOBODY] : told.of(namespaces, pieces[position]?.length ?? 0);
  });
}

/** Which namespaces are told apart. */
class Namespaces {
  readonly #told = new Set<string>();
  #looks = 0;

  /** Of an image of so many layers. */
  of(namespaces: ReadonlySet<string>, layers: number): readonly string[] {
    const first = [...namespaces].slice(0, MOST_NAMESPACES).filter((name) => this.#isTold(name));
    const looks = first.length * layers;
    if (this.#looks + looks > MOST_LOOKS) return [OTHERS];
    this.#looks += looks;
    return first.length < namespaces.size ? [...first, OTHERS] : first;
  }

  #isTold(name: string): boolean {
    if (this.#told.has(name)) return true;
    if (this.#told.size >= MOST_GROUPS || name.length > MOST_NAMESPACE_LENGTH) return false;
    this.#told.add(name);
    return true;
  }
}

const isUsed = ({ usedBy }: InventoryImage): boolean => usedBy.length > 0;
const wasUsed = (image: InventoryImage): boolean => isUsed(image) || image.lastUsedMs !== null;

/** Pieces that an image has which is used now, or ever was. */
function piecesOf(
  { pieces, bytes }: Contents,
  images: readonly InventoryImage[],
  which: (image: InventoryImage) => boolean,
): Uint8Array {
  const found = new Uint8Array(bytes.length);
  for (const [position, image] of images.entries())
    if (which(image)) for (const piece of pieces[position] ?? []) found[piece] = 1;
  return found;
}

/** Sums that no number holds are as large as one can be: nobody has so much. */
const plus = (sum: number, bytes: number): number => Math.min(Number.MAX_SAFE_INTEGER, sum + bytes);

function sumsOf(contents: Contents, images: readonly InventoryImage[]): HeldSums {
  const { bytes } = contents;
  const there = piecesOf(contents, images, () => true);
  const used = piecesOf(contents, images, isUsed);
  const ever = piecesOf(contents, images, wasUsed);
  const sum = (counts: (piece: number) => boolean): number =>
    bytes.reduce((all, size, piece) => (there[piece] === 1 && counts(piece) ? plus(all, size) : all), 0);
  return {
    bytes: sum(() => true),
    unusedBytes: sum((piece) => used[piece] === 0),
    neverUsedBytes: sum((piece) => ever[piece] === 0),
  };
}

/** What the images of each group take together, and what of it no image of another group has. */
function groupsOf(
  contents: Contents,
  images: readonly InventoryImage[],
  groupsAt: readonly (readonly string[])[],
): readonly HeldGroup[] {
  const groups = positionsByGroup(groupsAt);
  const owners = ownersOf(contents, [...groups.values()]);
  const used = piecesOf(contents, images, isUsed);
  const ever = piecesOf(contents, images, wasUsed);
  const counted = new Int32Array(contents.bytes.length).fill(NONE);
  return [...groups].map(([name, positions], group) => {
    const pieces = newPieces(contents, positions, { counted, group });
    const alone = pieces.filter((piece) => owners[piece] === group);
    const sum = (which: readonly number[]): number =>
      which.reduce((all, piece) => plus(all, contents.bytes[piece] ?? 0), 0);
    return {
      name,
      images: positions.length,
      bytes: sum(pieces),
      aloneBytes: sum(alone),
      unusedBytes: sum(alone.filter((piece) => used[piece] === 0)),
      neverUsedBytes: sum(alone.filter((piece) => ever[piece] === 0)),
    };
  });
}

function positionsByGroup(groupsAt: readonly (readonly string[])[]): ReadonlyMap<string, readonly number[]> {
  const positions = new Map<string, number[]>();
  for (const [position, groups] of groupsAt.entries())
    for (const group of groups) {
      const known = positions.get(group);
      if (known === undefined) positions.set(group, [position]);
      else known.push(position);
    }
  return positions;
}

interface Counting {
  /** By piece the group that had it last. */
  readonly counted: Int32Array;
  readonly group: number;
}

/** Pieces of these images, each once. */
function newPieces(
  { pieces }: Contents,
  positions: readonly number[],
  { counted, group }: Counting,
): readonly number[] {
  const found: number[] = [];
  for (const position of positions)
    for (const piece of pieces[position] ?? [])
      if (counted[piece] !== group) {
        counted[piece] = group;
        found.push(piece);
      }
  return found;
}

/** By piece the number of the group whose images alone have it. */
function ownersOf({ pieces, bytes }: Contents, groups: readonly (readonly number[])[]): Int32Array {
  const owners = new Int32Array(bytes.length).fill(NONE);
  for (const [group, positions] of groups.entries())
    for (const piece of positions.values().flatMap((position) => pieces[position] ?? [])) {
      const isNew = owners[piece] === NONE || owners[piece] === group;
      owners[piece] = isNew ? group : SEVERAL;
    }
  return owners;
}
