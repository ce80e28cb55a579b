import { nodeKey } from '../../../schemas/events/identity.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import type {
  DashboardHolders,
  DashboardImages,
  DashboardRepository,
  HolderKind,
} from '../../../schemas/reports/dashboard-images.ts';
import type { FleetNode, FleetNodes } from '../../../schemas/reports/fleet-nodes.ts';
import type { Held, HeldByNode } from '../projection/held.ts';
import type { ImageIdentity } from '../projection/image-identities.ts';
import type { HeldGroup, HeldSums } from '../projection/rows.ts';
import { groupOf } from './fleet.ts';
import { Adding, type Sums, SumsByName, told } from './held-sums.ts';

/** Of one repository; a page of more would be read by nobody. */
const MOST_IMAGES = 500;
const MOST_HOLDERS = 200;

export const REPOSITORY_ORDERS = ['bytes', 'alone', 'unused', 'never', 'nodes', 'images', 'name'] as const;
export type RepositoryOrder = (typeof REPOSITORY_ORDERS)[number];

export interface ImagesQuestion {
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
export interface SummedImages {
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
