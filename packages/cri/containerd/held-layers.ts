import { type ListedNames, targetsByImage } from './image-targets.ts';
import type { KeptBlob, LayerStore } from './layer-store.ts';

/** A layer as it lies on disk. Images that have a layer of the same key have it in common. */
export type HeldLayer = { readonly key: string; readonly digest: string } & (
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
  const visit = (digest: string): void => {
    const blob = store.blobs.get(digest);
    if (!blob || seen.has(digest)) return;
    seen.add(digest);
    for (const layer of layersAt(digest, blob, store)) found.set(layer.key, layer);
    blob.content.forEach(visit);
  };
  targets.forEach(visit);
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
