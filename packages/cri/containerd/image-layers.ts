import pMap from 'p-map';
import type { InventoryLayer } from '../../../schemas/events/inventory.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import { FleetGcError } from '../../process/errors.ts';
import {
  type ContainerdSource,
  type ImageContent,
  type KeptBlob,
  type LayerStore,
  type ListedNames,
  readLayerStore,
  targetsByImage,
} from './layer-store.ts';

/** The layers that listed images alone hold, and which image has which. */
export interface LayerTable {
  /** Those of one image together, images by id: positions that are close to each other take less room. */
  readonly layers: readonly InventoryLayer[];
  /** Positions in `layers`, ascending, by image id. The layers of an image that is not there are not known. */
  readonly ofImage: ReadonlyMap<string, readonly number[]>;
}

/** Sizes of unpacked snapshots by key. They never change, so each is asked for once. */
export type SnapshotSizes = Map<string, number>;

interface LayerSources extends ContainerdSource {
  readonly sizes: SnapshotSizes;
}

/** Rejects where containerd does not answer in time, or is none. */
export async function readImageLayers(
  listed: readonly ListedNames[],
  content: ImageContent,
  { containerd, sizes, timeLeftMs }: LayerSources,
): Promise<LayerTable> {
  const store = await readLayerStore(content, { containerd, timeLeftMs });
  const held = layersHeld(listed.toSorted(byId), store);
  const layers = new Map([...held.values()].flat().map((layer) => [layer.key, layer]));
  forgetOthers(sizes, layers);
  const sized = await pMap(
    [...layers.values()],
    async (layer) => ({
      ...layer,
      sizeBytes: await sizeOf(layer, { containerd, sizes, timeLeftMs }),
    }),
    { concurrency: USAGE_CONCURRENCY },
  );
  return tableOf(held, sized);
}

const byId = (a: ListedNames, b: ListedNames): number => compareText(a.id, b.id);

/** Sizes asked for at the same time. */
const USAGE_CONCURRENCY = 8;

function forgetOthers(sizes: SnapshotSizes, layers: ReadonlyMap<string, unknown>): void {
  for (const key of sizes.keys()) if (!layers.has(key)) sizes.delete(key);
}

/** `null` of a snapshot that went away since it was listed. */
async function sizeOf(
  layer: HeldLayer,
  { containerd, sizes, timeLeftMs }: LayerSources,
): Promise<number | null> {
  if (layer.kind === 'blob') return layer.sizeBytes;
  const known = sizes.get(layer.key);
  if (known !== undefined) return known;
  const { key, snapshotter, digest } = layer;
  const asked = await containerd.snapshotBytes(snapshotter, digest, timeLeftMs()).catch(goneAsNull);
  if (asked !== null) sizes.set(key, asked);
  return asked;
}

function goneAsNull(error: unknown): null {
  if (error instanceof FleetGcError && error.code === 'RUNTIME_NOT_FOUND') return null;
  throw error;
}

function tableOf(
  held: ReadonlyMap<string, readonly HeldLayer[]>,
  sized: readonly (Pick<HeldLayer, 'key' | 'kind' | 'digest'> & { readonly sizeBytes: number | null })[],
): LayerTable {
  const rows = sized.flatMap(({ sizeBytes, ...layer }) =>
    sizeBytes === null ? [] : [{ ...layer, sizeBytes }],
  );
  const positions = new Map(rows.map(({ key }, position) => [key, position]));
  const positionsOf = (layers: readonly HeldLayer[]): number[] =>
    layers.flatMap(({ key }) => positions.get(key) ?? []).sort((a, b) => a - b);
  return {
    layers: rows.map(({ kind, digest, sizeBytes }) => ({ kind, digest: shortened(digest), sizeBytes })),
    ofImage: new Map([...held].map(([id, layers]) => [id, positionsOf(layers)])),
  };
}

/** Whole digests would make an inventory several times as large. */
const shortened = (digest: string): string => digest.slice(digest.indexOf(':') + 1).slice(0, DIGEST_DIGITS);

const DIGEST_DIGITS = 12;

/** A layer as it lies on disk. Images that have a layer of the same key have it in common. */
type HeldLayer = { readonly key: string; readonly digest: string } & (
  | { readonly kind: 'blob'; readonly sizeBytes: number }
  | { readonly kind: 'snapshot'; readonly snapshotter: string }
);

/**
 * By image id, the layers that go when the listed images do; an image of which containerd has no name or no content is
 * not there. What an image holds that CRI does not list counts for none: it stays, whatever goes.
 */
export function layersHeld(
  listed: readonly ListedNames[],
  store: LayerStore,
): ReadonlyMap<string, readonly HeldLayer[]> {
  const targetsOf = targetsByImage(listed, store);
  const ofListed = new Set([...targetsOf.values()].flat());
  const others = store.images.map(({ target }) => target).filter((target) => !ofListed.has(target));
  const elsewhere = layersUnder(others, store);
  return new Map(
    [...targetsOf].map(([id, ofImage]) => [
      id,
      [...layersUnder(ofImage, store).values()].filter(({ key }) => !elsewhere.has(key)),
    ]),
  );
}

/**
 * The layers below these indexes and manifests, by key: blobs that refer to nothing, and unpacked snapshots with all
 * below them. What is not on disk is left out: other platforms, and blobs that were discarded once unpacked.
 */
function layersUnder(targets: readonly string[], store: LayerStore): ReadonlyMap<string, HeldLayer> {
  const found = new Map<string, HeldLayer>();
  const seen = new Set<string>();
  // The next is the last: however deep they lie, each comes before those that follow the one that names it.
  const waiting = targets.toReversed();
  for (let digest = waiting.pop(); digest !== undefined; digest = waiting.pop()) {
    const blob = store.blobs.get(digest);
    if (!blob || seen.has(digest)) continue;
    seen.add(digest);
    for (const layer of layersAt(digest, blob, store)) found.set(layer.key, layer);
    for (const below of blob.content.toReversed()) waiting.push(below);
  }
  return found;
}

function layersAt(
  digest: string,
  { sizeBytes, content, snapshots }: KeptBlob,
  store: LayerStore,
): HeldLayer[] {
  return content.length + snapshots.length === 0
    ? [{ kind: 'blob', key: `blob ${digest}`, digest, sizeBytes }]
    : snapshots.flatMap(({ snapshotter, name }) => snapshotChain(snapshotter, name, store));
}

function snapshotChain(snapshotter: string, top: string, { parents }: LayerStore): HeldLayer[] {
  const parentOf = parents.get(snapshotter);
  const chain: HeldLayer[] = [];
  for (let name = top; parentOf?.has(name); name = parentOf.get(name) ?? '') {
    // What names itself as its own ancestor has no end.
    if (chain.length > parentOf.size) break;
    chain.push({ kind: 'snapshot', key: `snapshot ${snapshotter} ${name}`, digest: name, snapshotter });
  }
  return chain;
}

type Blobs = ImageContent['blobs'];

/**
 * By image id, whether this node pulled it (M12); an image of which containerd has no name or no content is not there.
 * Layers do not count, since they may be those of another image that was pulled.
 */
export const pulledImages = (
  listed: readonly ListedNames[],
  content: ImageContent,
): ReadonlyMap<string, boolean> =>
  new Map(
    [...targetsByImage(listed, content)].map(([id, targets]) => [
      id,
      targets.some((target) => wasPulled(target, content.blobs)),
    ]),
  );

/**
 * Anybody may set the label that a pull leaves, and importers do so on the index or manifest, which has a name. A pull
 * leaves more: one source on the index, each manifest and each configuration that is there, and none of them is older than
 * what refers to it, since a pull learns of it there. What lacks any of it was not pulled as far as anybody can tell.
 */
function wasPulled(target: string, blobs: Blobs): boolean {
  const heads = headsUnder(target, blobs);
  const stored = heads.flatMap((digest) => blobs.get(digest) ?? []);
  const [first, ...others] = stored;
  if (first === undefined) return false;
  const hasOneSource = first.sources.some((source) =>
    others.every(({ sources }) => sources.includes(source)),
  );
  return hasOneSource && others.some(isLeaf) && stored.every((head) => isBeforeItsHeads(head, blobs));
}

/** A configuration. A target without one is no image that a pull has completed. */
const isLeaf = ({ content }: KeptBlob): boolean => content.length === 0;

/** The index, manifests and configurations from here down that are in the store, the target first. */
function headsUnder(target: string, blobs: Blobs): readonly string[] {
  const found = new Set([target]);
  // What is added to a set while it is gone through is gone through too.
  for (const digest of found)
    for (const below of headsOf(blobs.get(digest))) if (blobs.has(below)) found.add(below);
  return [...found];
}

function headsOf(blob: KeptBlob | undefined): readonly string[] {
  if (blob === undefined) return [];
  const layers = new Set(blob.layers);
  return blob.content.filter((digest) => !layers.has(digest));
}

function isBeforeItsHeads(head: KeptBlob, blobs: Blobs): boolean {
  const { createdAtNs } = head;
  if (createdAtNs === null) return false;
  return headsOf(head)
    .flatMap((digest) => blobs.get(digest) ?? [])
    .every((below) => below.createdAtNs !== null && createdAtNs <= below.createdAtNs);
}
