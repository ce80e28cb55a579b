import pMap from 'p-map';
import type { InventoryLayer } from '../../../schemas/events/inventory.ts';
import { FleetGcError } from '../../process/errors.ts';
import { type HeldLayer, layersHeld } from './held-layers.ts';
import type { ListedNames } from './image-targets.ts';
import { type ContainerdSource, type ImageContent, readLayerStore } from './layer-store.ts';

/** The layers that listed images alone hold, and which image has which. */
export interface LayerTable {
  /** Those of one image together, images by id: positions that are close to each other take less room. */
  readonly layers: readonly InventoryLayer[];
  /** Positions in `layers`, ascending, by image id. The layers of an image that is not there are not known. */
  readonly ofImage: ReadonlyMap<string, readonly number[]>;
}

/** Sizes of unpacked snapshots by key. They never change, so each is asked for once. */
export type SnapshotSizes = Map<string, number>;

export interface LayerSources extends ContainerdSource {
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

const byId = (a: ListedNames, b: ListedNames): number => (a.id < b.id ? -1 : 1);

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
