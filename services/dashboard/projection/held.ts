import type { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { zstdDecompressSync } from 'node:zlib';
import { z } from 'zod';
import type { HeldGroup, HeldImages, HeldRow, HeldSums } from './rows.ts';

/** Of so many nodes what is stored is read before others have their turn. */
const NODES_AT_ONCE = 100;
const NEVER = -1;
/** So many are not looked through for what nobody holds. */
const FEW_IMAGES = 10_000;

/** What is the same wherever an image lies: a fleet has each many times, and memory once. */
export interface ImageIdentity {
  readonly id: string;
  /** The same for the same id, whatever else differs. */
  readonly number: number;
  readonly name: string;
  readonly repository: string;
  readonly sizeBytes: number;
}

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
}

/** What every node holds now, in memory: what is asked of all of them at once is summed up over them. */
export class Held {
  readonly #nodes = new Map<string, HeldByNode>();
  #identities = new Map<string, ImageIdentity>();
  #names = new Map<string, string>();
  #numbers = new Map<string, number>();
  #nextNumber = 0;
  #mostIdentities = FEW_IMAGES;

  /** Takes what an inventory says, and says whether it is new: what is older than what is known says nothing. */
  heard({ node, atMs, offset, takenMs, held }: Omit<HeldRow, 'table'>): boolean {
    const known = this.#nodes.get(node);
    if (known !== undefined && (known.atMs > atMs || (known.atMs === atMs && known.offset >= offset)))
      return false;
    this.#nodes.set(node, { node, atMs, offset, takenMs, ...this.#columnsOf(held()) });
    return true;
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
    return this.#nextNumber;
  }

  get size(): number {
    return this.#nodes.size;
  }

  /** Lets go of nodes that told nothing since, and of images where most are on no node any more. */
  forgetBefore(ms: number): void {
    for (const [node, { atMs }] of this.#nodes) if (atMs < ms) this.#nodes.delete(node);
    if (this.#identities.size > this.#mostIdentities) this.#forgetImages();
  }

  /** What no node holds any more. */
  #forgetImages(): void {
    const held = new Set(this.#nodes.values().flatMap(({ images }) => images));
    this.#identities = new Map(held.values().map((image) => [keyOf(image), image]));
    this.#mostIdentities = 2 * this.#identities.size + FEW_IMAGES;
    this.#numbers = new Map(held.values().map(({ id, number }) => [id, number]));
    const groups = this.#nodes.values().flatMap(({ repositories, namespaces }) => [repositories, namespaces]);
    this.#names = new Map(groups.flatMap((each) => each.map(({ name }): [string, string] => [name, name])));
  }

  clear(): void {
    this.#nodes.clear();
    this.#identities.clear();
    this.#names.clear();
    this.#numbers.clear();
  }

  #columnsOf({ images, repositories, namespaces, sums, hasLayers }: HeldImages) {
    const lastUsed = Float64Array.from(images, ({ lastUsedMs }) => lastUsedMs ?? NEVER);
    const pinned = Uint8Array.from(images, (image) => Number(image.pinned));
    return {
      images: images.map(({ id, name, repository, sizeBytes }) =>
        this.#identityOf({ id, name, repository: this.#nameOf(repository), sizeBytes }),
      ),
      users: Uint32Array.from(images, ({ users }) => users),
      sums,
      repositories: repositories.map((group) => ({ ...group, name: this.#nameOf(group.name) })),
      namespaces: namespaces.map((group) => ({ ...group, name: this.#nameOf(group.name) })),
      hasLayers,
      lastUsedMs: (position: number): number | null => {
        const ms = lastUsed[position] ?? NEVER;
        return ms === NEVER ? null : ms;
      },
      isPinned: (position: number): boolean => pinned[position] === 1,
    };
  }

  #identityOf(image: Omit<ImageIdentity, 'number'>): ImageIdentity {
    const key = keyOf(image);
    const known = this.#identities.get(key);
    if (known !== undefined) return known;
    const numbered = { ...image, number: this.#numberOf(image.id) };
    this.#identities.set(key, numbered);
    return numbered;
  }

  #numberOf(id: string): number {
    const known = this.#numbers.get(id);
    if (known !== undefined) return known;
    this.#numbers.set(id, this.#nextNumber);
    this.#nextNumber += 1;
    return this.#nextNumber - 1;
  }

  #nameOf(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    this.#names.set(name, name);
    return name;
  }
}

const keyOf = ({ id, name, sizeBytes }: Omit<ImageIdentity, 'number'>): string =>
  `${id} ${sizeBytes} ${name}`;

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
