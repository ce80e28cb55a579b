import type { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { zstdDecompressSync } from 'node:zlib';
import { z } from 'zod';
import { MAX_INVENTORY_OBJECTS } from '../../schemas/events/inventory.ts';
import type { HeldGroup, HeldImages, HeldRow, HeldSums } from './rows.ts';

/** Of so many nodes what is stored is read before others have their turn. */
const NODES_AT_ONCE = 100;
const NEVER = -1;
/** So many are not looked through for what nobody holds. */
const FEW_IMAGES = 10_000;
/** Of memory, as it is estimated; ten thousand nodes with eighty images each take a seventh. */
const MOST_BYTES = 1024 * 1024 * 1024;
/** What an image takes on each node that has it, and what a repository or a namespace does. */
const IMAGE_BYTES = 24;
const GROUP_BYTES = 200;

/** The images of a node; what differs from node to node stands in columns, by the position in `images`. */
export interface HeldByNode {
  readonly node: string;
  readonly atMs: number;
  readonly offset: bigint;
  /** By the clock of the node. */
  readonly takenMs: number;
  readonly images: readonly ImageIdentity[];
  readonly users: Uint32Array;
  readonly sums: HeldSums;
  readonly repositories: readonly HeldGroup[];
  readonly namespaces: readonly HeldGroup[];
  readonly hasLayers: boolean;
  /** `null`: nobody was ever seen to use it. */
  readonly lastUsedMs: (position: number) => number | null;
  readonly isPinned: (position: number) => boolean;
  /** What it takes in memory, but for what its images have in common with those of others. */
  readonly bytes: number;
}

/** What every node holds now, in memory: what is asked of all of them at once is summed up over them. */
export class Held {
  readonly #nodes = new Map<string, HeldByNode>();
  readonly #identities = new ImageIdentities();
  /** Nodes whose newest images found no room, and when they told of them. */
  readonly #leftOut = new Map<string, number>();
  readonly #mostBytes: number;
  #nodesBytes = 0;
  #mostIdentities = FEW_IMAGES;
  /** Of images that some node had when it was looked through last. */
  #neededBytes = 0;

  constructor(mostBytes = MOST_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /**
   * Takes what an inventory says, and says whether it is new: what is older than what is known says nothing, and neither does what there is
   * no room for, which is counted.
   */
  heard({ node, atMs, offset, takenMs, held }: Omit<HeldRow, 'table'>): boolean {
    const known = this.#nodes.get(node);
    if (known !== undefined && (known.atMs > atMs || (known.atMs === atMs && known.offset >= offset)))
      return false;
    const told = held();
    const bytes = bytesOf(told);
    const more = bytes - (known?.bytes ?? 0);
    if (!this.#hasRoom(more, told)) {
      this.leaveOut(node, atMs);
      return false;
    }
    this.#leftOut.delete(node);
    this.#nodesBytes += more;
    this.#nodes.set(node, { node, atMs, offset, takenMs, bytes, ...this.#columnsOf(told) });
    return true;
  }

  /** Nodes of whose newest images nothing is told, since there is no room. */
  get leftOut(): number {
    return this.#leftOut.size;
  }

  /** There is no room for what a node lists, whatever others do. */
  leaveOut(node: string, atMs: number): void {
    this.#leftOut.set(node, atMs);
  }

  #hasRoom(more: number, { images }: HeldImages): boolean {
    if (images.length > MAX_INVENTORY_OBJECTS) return false;
    const isRoom = (): boolean =>
      this.#nodesBytes + more + this.#identities.bytes + this.#identities.bytesOfNew(images) <=
      this.#mostBytes;
    if (isRoom()) return true;
    if (this.#identities.bytes - this.#neededBytes < this.#mostBytes / 4) return false;
    this.#forgetImages();
    return isRoom();
  }

  /** Takes what was stored before this process began. */
  async recall(db: DatabaseSync): Promise<void> {
    const nodes = db.prepare('SELECT node FROM held').all();
    const find = db.prepare('SELECT at_ms, offset, taken_ms, images FROM held WHERE node = ?');
    for (const [index, { node }] of nodes.entries()) {
      if (index % NODES_AT_ONCE === 0) await setImmediate();
      const found = find.get(String(node));
      if (!(found?.images instanceof Uint8Array)) continue;
      const held = Stored.parse(JSON.parse(zstdDecompressSync(found.images).toString('utf8')));
      const { at_ms, offset, taken_ms } = found;
      this.heard({
        node: String(node),
        atMs: Number(at_ms),
        offset: BigInt(String(offset)),
        takenMs: Number(taken_ms),
        held: () => held,
      });
    }
  }

  all(): IteratorObject<HeldByNode> {
    return this.#nodes.values();
  }

  of(node: string): HeldByNode | null {
    return this.#nodes.get(node) ?? null;
  }

  /** All numbers of images are less. */
  get numbers(): number {
    return this.#identities.numbers;
  }

  get size(): number {
    return this.#nodes.size;
  }

  /** Lets go of nodes that told nothing since, and of images where most are on no node any more. */
  forgetBefore(ms: number): void {
    for (const [node, { atMs, bytes }] of this.#nodes)
      if (atMs < ms) {
        this.#nodes.delete(node);
        this.#nodesBytes -= bytes;
      }
    for (const [node, atMs] of this.#leftOut) if (atMs < ms) this.#leftOut.delete(node);
    if (this.#identities.size > this.#mostIdentities) this.#forgetImages();
  }

  /** What no node holds any more; the others have numbers without gaps. */
  #forgetImages(): void {
    this.#identities.clear();
    const renewed = new Map<ImageIdentity, ImageIdentity>();
    const renew = (image: ImageIdentity): ImageIdentity => {
      const known = renewed.get(image) ?? this.#identities.of(image);
      renewed.set(image, known);
      return known;
    };
    for (const [name, node] of this.#nodes)
      this.#nodes.set(name, {
        ...node,
        images: node.images.map(renew),
        repositories: node.repositories.map((group) => this.#named(group)),
        namespaces: node.namespaces.map((group) => this.#named(group)),
      });
    this.#mostIdentities = 2 * this.#identities.size + FEW_IMAGES;
    this.#neededBytes = this.#identities.bytes;
  }

  clear(): void {
    this.#nodes.clear();
    this.#leftOut.clear();
    this.#identities.clear();
    this.#nodesBytes = 0;
    this.#mostIdentities = FEW_IMAGES;
    this.#neededBytes = 0;
  }

  #columnsOf({ images, repositories, namespaces, sums, hasLayers }: HeldImages) {
    const lastUsed = Float64Array.from(images, ({ lastUsedMs }) => lastUsedMs ?? NEVER);
    const pinned = Uint8Array.from(images, (image) => Number(image.pinned));
    return {
      images: images.map(({ id, name, repository, sizeBytes }) =>
        this.#identities.of({ id, name, repository: this.#identities.nameOf(repository), sizeBytes }),
      ),
      users: Uint32Array.from(images, ({ users }) => users),
      sums,
      repositories: repositories.map((group) => this.#named(group)),
      namespaces: namespaces.map((group) => this.#named(group)),
      hasLayers,
      lastUsedMs: (position: number): number | null => {
        const ms = lastUsed[position] ?? NEVER;
        return ms === NEVER ? null : ms;
      },
      isPinned: (position: number): boolean => pinned[position] === 1,
    };
  }

  #named(group: HeldGroup): HeldGroup {
    return { ...group, name: this.#identities.nameOf(group.name) };
  }
}

const bytesOf = ({ images, repositories, namespaces }: HeldImages): number =>
  IMAGE_BYTES * images.length + GROUP_BYTES * (repositories.length + namespaces.length);

const Count = z.int().nonnegative();
const Sums = { bytes: Count, unusedBytes: Count, neverUsedBytes: Count };
const Group = z.object({ name: z.string(), images: Count, aloneBytes: Count, ...Sums });

/** As it was stored. */
const Stored = z.object({
  images: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      repository: z.string(),
      sizeBytes: Count,
      users: Count,
      lastUsedMs: Count.nullable(),
      pinned: z.boolean(),
    }),
  ),
  sums: z.object(Sums),
  repositories: z.array(Group),
  namespaces: z.array(Group),
  hasLayers: z.boolean(),
});

/** What is the same wherever an image lies: a fleet has each many times, and memory once. */
export interface ImageIdentity {
  readonly id: string;
  /** The same for the same id, whatever else differs. */
  readonly number: number;
  readonly name: string;
  readonly repository: string;
  readonly sizeBytes: number;
}

type Unnumbered = Omit<ImageIdentity, 'number'>;

/** What one takes beside its texts. */
const IDENTITY_BYTES = 300;

/** Each image once, and each name of a group. */
class ImageIdentities {
  readonly #identities = new Map<string, ImageIdentity>();
  readonly #numbers = new Map<string, number>();
  readonly #names = new Map<string, string>();
  /** What they take in memory, as it is estimated. */
  bytes = 0;

  get size(): number {
    return this.#identities.size + this.#names.size;
  }

  /** All numbers of images are less. */
  get numbers(): number {
    return this.#numbers.size;
  }

  of(image: Unnumbered): ImageIdentity {
    const key = keyOf(image);
    const known = this.#identities.get(key);
    if (known !== undefined) return known;
    const numbered = { ...image, number: this.#numberOf(image.id) };
    this.#identities.set(key, numbered);
    this.bytes += bytesOfIdentity(image);
    return numbered;
  }

  nameOf(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    this.#names.set(name, name);
    this.bytes += 2 * name.length;
    return name;
  }

  /** How much more they would take with these. */
  bytesOfNew(images: readonly Unnumbered[]): number {
    return images.reduce(
      (sum, image) => (this.#identities.has(keyOf(image)) ? sum : sum + bytesOfIdentity(image)),
      0,
    );
  }

  clear(): void {
    this.#identities.clear();
    this.#numbers.clear();
    this.#names.clear();
    this.bytes = 0;
  }

  #numberOf(id: string): number {
    const number = this.#numbers.get(id) ?? this.#numbers.size;
    this.#numbers.set(id, number);
    return number;
  }
}

const keyOf = ({ id, name, sizeBytes }: Unnumbered): string => `${id} ${sizeBytes} ${name}`;

/** Its texts are there twice: they are what it is found by. */
const bytesOfIdentity = ({ id, name }: Unnumbered): number => IDENTITY_BYTES + 2 * (id.length + name.length);
