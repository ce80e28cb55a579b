import type { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { nodeKey } from '../../schemas/events/identity.ts';
import { compareText } from '../../schemas/events/text-order.ts';
import type {
  DashboardHolders,
  DashboardImages,
  DashboardRepository,
  DashboardReturned,
  HolderKind,
} from '../../schemas/reports/dashboard-images.ts';
import type { FleetNode, FleetNodes } from '../../schemas/reports/fleet-nodes.ts';
import { HOUR_MS } from '../process/durations.ts';
import type { Held, HeldByNode, ImageIdentity } from './images-on-nodes.ts';
import { namesOfObject } from './names.ts';
import { type Grouping, groupOf } from './nodes.ts';
import type { HeldGroup, HeldSums } from './rows.ts';

/** Of one repository; a page of more would be read by nobody. */
const MOST_IMAGES = 500;
const MOST_HOLDERS = 200;

export const REPOSITORY_ORDERS = ['bytes', 'alone', 'unused', 'never', 'nodes', 'images', 'name'] as const;
type RepositoryOrder = (typeof REPOSITORY_ORDERS)[number];

interface ImagesQuestion {
  /** A part of the name. */
  readonly q: string;
  readonly sort: RepositoryOrder;
  readonly offset: number;
  readonly limit: number;
}

interface RepositoryRow extends Sums {
  readonly repository: string;
  readonly images: number;
}

/** What all nodes hold together, summed up once for all who ask in one moment. */
interface SummedImages {
  readonly nodes: number;
  readonly nodesWithoutLayers: number;
  readonly sums: Sums;
  readonly images: number;
  readonly repositories: readonly RepositoryRow[];
}

/** Goes through every image once of every node that is asked for. */
export function sumImages(held: Held, isAsked: (node: string) => boolean = () => true): SummedImages {
  const repositories = new SumsByName();
  const all = new Adding();
  const images = new ImagesByRepository(held.numbers);
  let nodesWithoutLayers = 0;
  for (const node of held.all().filter((each) => isAsked(each.node))) {
    all.add({ ...node.sums, aloneBytes: node.sums.bytes });
    if (!node.hasLayers) nodesWithoutLayers += 1;
    for (const group of node.repositories) repositories.add(group.name, group);
    images.add(node.images);
  }
  const { sums } = all;
  return {
    nodes: sums.nodes,
    nodesWithoutLayers,
    sums,
    images: images.size,
    repositories: repositories
      .entries()
      .map(([repository, each]) => ({ repository, images: images.count(repository), ...each })),
  };
}

/** Different images, wherever they lie; one of several names counts for the repository that is met first. */
class ImagesByRepository {
  readonly #counts = new Map<string, number>();
  readonly #seen: Uint8Array;

  constructor(numbers: number) {
    this.#seen = new Uint8Array(numbers);
  }

  add(images: readonly ImageIdentity[]): void {
    for (const { repository, number } of images) {
      if (this.#seen[number] !== 0) continue;
      this.#seen[number] = 1;
      this.#counts.set(repository, this.count(repository) + 1);
    }
  }

  count(repository: string): number {
    return this.#counts.get(repository) ?? 0;
  }

  get size(): number {
    return this.#counts.values().reduce((sum, count) => sum + count, 0);
  }
}

type Compare = (a: RepositoryRow, b: RepositoryRow) => number;
const byBytes =
  (of: (row: RepositoryRow) => bigint): Compare =>
  (a, b) =>
    Number(of(b) > of(a)) - Number(of(b) < of(a));

const ORDERS: Readonly<Record<RepositoryOrder, Compare>> = {
  bytes: byBytes(({ bytes }) => bytes),
  alone: byBytes(({ aloneBytes }) => aloneBytes),
  unused: byBytes(({ unusedBytes }) => unusedBytes),
  never: byBytes(({ neverUsedBytes }) => neverUsedBytes),
  nodes: (a, b) => b.nodes - a.nodes,
  images: (a, b) => b.images - a.images,
  name: () => 0,
};

interface Counted {
  readonly summed: SummedImages;
  readonly nodesNotCounted: number;
  readonly atMs: number;
}

/** Repositories by the space that they take. Sorted by what is never used, those with nothing of it are left out. */
export function readImages(
  { summed, nodesNotCounted, atMs: readAtMs }: Counted,
  { q, sort, offset, limit }: ImagesQuestion,
): DashboardImages {
  const text = q.toLowerCase();
  const has = HAS[sort] ?? (() => true);
  const found = summed.repositories.filter((row) => row.repository.toLowerCase().includes(text) && has(row));
  const order = ORDERS[sort];
  const { nodes, nodesWithoutLayers, sums, images, repositories } = summed;
  const { bytes, unusedBytes, neverUsedBytes } = told(sums);
  return {
    readAtMs,
    nodes,
    nodesWithoutLayers,
    nodesNotCounted,
    sums: { bytes, unusedBytes, neverUsedBytes, images, repositories: repositories.length },
    matching: found.length,
    repositories: found
      .toSorted((a, b) => order(a, b) || compareText(a.repository, b.repository))
      .slice(offset, offset + limit)
      .map((row) => ({ repository: row.repository, images: row.images, ...told(row) })),
  };
}

const HAS: Partial<Readonly<Record<RepositoryOrder, (row: RepositoryRow) => boolean>>> = {
  unused: ({ unusedBytes }) => unusedBytes > 0n,
  never: ({ neverUsedBytes }) => neverUsedBytes > 0n,
};

/** The images of one repository; `null` where no node has one. */
export function readRepository(held: Held, repository: string): DashboardRepository | null {
  const found = new Map<string, DashboardRepository['images'][number]>();
  for (const node of held.all())
    for (const [position, image] of node.images.entries())
      if (image.repository === repository) found.set(image.id, withNode(found.get(image.id), node, position));
  if (found.size === 0) return null;
  const images = [...found.values()].toSorted((a, b) => b.nodes - a.nodes || compareText(a.name, b.name));
  return { repository, matching: images.length, images: images.slice(0, MOST_IMAGES) };
}

function withNode(
  known: DashboardRepository['images'][number] | undefined,
  node: HeldByNode,
  position: number,
): DashboardRepository['images'][number] {
  const { id = '', name = '', sizeBytes = 0 }: Partial<ImageIdentity> = node.images[position] ?? {};
  const image = known ?? { id, name, sizeBytes, nodes: 0, usedOn: 0, neverUsedOn: 0 };
  const isUsed = (node.users[position] ?? 0) > 0;
  return {
    ...image,
    nodes: image.nodes + 1,
    usedOn: image.usedOn + Number(isUsed),
    neverUsedOn: image.neverUsedOn + Number(!isUsed && node.lastUsedMs(position) === null),
  };
}

/** Who holds the space. A node is told as the fleet is; whose images its namespaces use its inventory says. */
export function readHolders(
  held: Held,
  { nodes }: Pick<FleetNodes, 'nodes'>,
  by: HolderKind,
): DashboardHolders {
  const sums = new SumsByName();
  const known = new Map(nodes.map((node) => [nodeKey(node), node]));
  for (const node of held.all())
    for (const group of groupsFor(by, node, known.get(node.node))) sums.add(group.name, group);
  const holders = sums
    .entries()
    .toSorted(([a, first], [b, second]) => mostFirst(first, second) || compareText(a, b));
  return {
    by,
    matching: holders.length,
    holders: holders.slice(0, MOST_HOLDERS).map(([name, each]) => ({ name, ...told(each) })),
  };
}

const mostFirst = ({ bytes: a }: Sums, { bytes: b }: Sums): number => Number(b > a) - Number(b < a);

/** Of whom the fleet is not told (yet). */
const UNKNOWN = '(unknown)';

function groupsFor(
  by: HolderKind,
  { sums, namespaces }: HeldByNode,
  node: FleetNode | undefined,
): readonly Pick<HeldGroup, keyof HeldSums | 'name' | 'aloneBytes'>[] {
  if (by === 'namespace') return namespaces;
  return [{ name: node === undefined ? UNKNOWN : groupOf(node, by), ...sums, aloneBytes: sums.bytes }];
}

const FRESH_MS = 10_000;
const MOST_REMEMBERED = 8;

/** Nodes of one cluster, pool or policy. */
interface NodeGroup {
  readonly by: Grouping;
  readonly of: string;
}

interface Remembered {
  readonly atMs: number;
  readonly summed: SummedImages;
  /** Of the same group, but of them nothing is summed up. */
  readonly nodesNotCounted: number;
}

/** Sums up the images of a part of the fleet, at most every few seconds. */
export class SummedOnce {
  readonly #now: () => number;
  readonly #remembered = new Map<string, Remembered>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** `group` is `null` for every node. */
  of(held: Held, nodes: () => FleetNodes, group: NodeGroup | null): Remembered {
    const key = JSON.stringify(group);
    const known = this.#remembered.get(key);
    const nowMs = this.#now();
    if (known !== undefined && nowMs - known.atMs < FRESH_MS) return known;
    const asked = keysOf(nodes(), group);
    const summed = sumImages(held, group === null ? undefined : (node) => asked.has(node));
    const counted = new Set(held.all().map(({ node }) => node));
    const nodesNotCounted = [...asked].filter((node) => !counted.has(node)).length;
    const remembered = { atMs: nowMs, summed, nodesNotCounted };
    this.#remembered.delete(key);
    this.#remembered.set(key, remembered);
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > MOST_REMEMBERED && oldest !== undefined) this.#remembered.delete(oldest);
    return remembered;
  }
}

const keysOf = ({ nodes }: FleetNodes, group: NodeGroup | null): ReadonlySet<string> =>
  new Set(nodes.filter((node) => group === null || groupOf(node, group.by) === group.of).map(nodeKey));

/** Sums over nodes pass 2^53. */
interface Sums {
  readonly nodes: number;
  readonly bytes: bigint;
  readonly aloneBytes: bigint;
  readonly unusedBytes: bigint;
  readonly neverUsedBytes: bigint;
}

type OfNode = HeldSums & Pick<HeldGroup, 'aloneBytes'>;

/** What nodes hold, added up. */
class Adding {
  #nodes = 0;
  readonly #bytes = new ExactSum();
  readonly #alone = new ExactSum();
  readonly #unused = new ExactSum();
  readonly #neverUsed = new ExactSum();

  add({ bytes, aloneBytes, unusedBytes, neverUsedBytes }: OfNode): void {
    this.#nodes += 1;
    this.#bytes.add(bytes);
    this.#alone.add(aloneBytes);
    this.#unused.add(unusedBytes);
    this.#neverUsed.add(neverUsedBytes);
  }

  get sums(): Sums {
    return {
      nodes: this.#nodes,
      bytes: this.#bytes.total,
      aloneBytes: this.#alone.total,
      unusedBytes: this.#unused.total,
      neverUsedBytes: this.#neverUsed.total,
    };
  }
}

/** As the API tells it. */
const told = ({ nodes, bytes, aloneBytes, unusedBytes, neverUsedBytes }: Sums) => ({
  nodes,
  bytes: String(bytes),
  aloneBytes: String(aloneBytes),
  unusedBytes: String(unusedBytes),
  neverUsedBytes: String(neverUsedBytes),
});

/** The same by a name. */
class SumsByName {
  readonly #byName = new Map<string, Adding>();

  add(name: string, held: OfNode): void {
    const adding = this.#byName.get(name) ?? new Adding();
    this.#byName.set(name, adding);
    adding.add(held);
  }

  entries(): readonly (readonly [string, Sums])[] {
    return [...this.#byName].map(([name, { sums }]) => [name, sums] as const);
  }
}

/** Of whole numbers, and exact at any size. To add big integers takes ten times as long, so they hold only what numbers cannot. */
export class ExactSum {
  #beyond = 0n;
  #sum = 0;

  add(value: number): void {
    if (this.#sum > Number.MAX_SAFE_INTEGER - value) {
      this.#beyond += BigInt(this.#sum);
      this.#sum = 0;
    }
    this.#sum += value;
  }

  get total(): bigint {
    return this.#beyond + BigInt(this.#sum);
  }
}

const MOST_RETURNED = 100;
/** So much of the past is read before others have their turn. */
const SPAN_MS = HOUR_MS;

interface ReturnedNeeds {
  readonly db: DatabaseSync;
  readonly held: Held;
  /** From when up to now, by the log's clock. */
  readonly range: { readonly fromMs: number; readonly toMs: number };
  readonly knownSinceMs: number | null;
}

/** How often an image went from a node, and when the last time was, by the clock of the node. */
interface Gone {
  times: number;
  lastMs: number;
}

interface Sum {
  removals: number;
  returns: number;
  nodes: number;
}

const REMOVED = `SELECT object, node, count(*) AS times, max(node_ms) AS last FROM removals
  WHERE at_ms >= ? AND at_ms < ? AND kind = 'image' GROUP BY object, node`;

/**
 * Images that went and came back: what goes twice came back in between, and what the newest inventory of its node lists was pulled
 * again. What somebody else deleted since `fleetgc audit report` alone tells.
 */
export async function readReturned(
  { db, held, range, knownSinceMs }: ReturnedNeeds,
  signal: AbortSignal,
): Promise<DashboardReturned> {
  const gone = new Map<string, Map<string, Gone>>();
  for (let fromMs = range.fromMs; fromMs <= range.toMs && !signal.aborted; fromMs += SPAN_MS) {
    for (const row of db.prepare(REMOVED).all(fromMs, Math.min(fromMs + SPAN_MS, range.toMs + 1)))
      addGone(gone, { image: String(row.object), node: String(row.node) }, row);
    await setImmediate();
  }
  const images = [...gone]
    .map(([id, nodes]) => ({ id, name: null, ...sumOf(id, nodes, held) }))
    .toSorted((a, b) => b.returns - a.returns || b.removals - a.removals);
  const names = namesOf(held, new Set(images.slice(0, MOST_RETURNED).map(({ id }) => id)));
  return {
    fromMs: range.fromMs,
    knownSinceMs,
    removals: images.reduce((sum, { removals }) => sum + removals, 0),
    returns: images.reduce((sum, { returns }) => sum + returns, 0),
    images: images
      .filter(({ returns }) => returns > 0)
      .slice(0, MOST_RETURNED)
      .map((image) => ({
        ...image,
        name: names.get(image.id) ?? namesOfObject(db, 'image', image.id)[0] ?? null,
      })),
  };
}

function addGone(
  gone: Map<string, Map<string, Gone>>,
  { image, node }: { readonly image: string; readonly node: string },
  { times, last }: { readonly times?: unknown; readonly last?: unknown },
): void {
  const nodes = gone.get(image) ?? new Map<string, Gone>();
  gone.set(image, nodes);
  const known = nodes.get(node) ?? { times: 0, lastMs: 0 };
  nodes.set(node, { times: known.times + Number(times), lastMs: Math.max(known.lastMs, Number(last)) });
}

function sumOf(id: string, nodes: ReadonlyMap<string, Gone>, held: Held): Sum {
  const sum = { removals: 0, returns: 0, nodes: nodes.size };
  for (const [node, { times, lastMs }] of nodes) {
    sum.removals += times;
    sum.returns += times - 1 + Number(isBack(held.of(node), id, lastMs));
  }
  return sum;
}

/** Whether a node has listed an image since it went, by its own clock. */
export const isBack = (node: HeldByNode | null, id: string, wentMs: number): boolean =>
  node !== null && node.takenMs > wentMs && node.images.some((image) => image.id === id);

function namesOf(held: Held, ids: ReadonlySet<string>): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { images } of held.all())
    for (const { id, name } of images) if (ids.has(id) && !names.has(id)) names.set(id, name);
  return names;
}
