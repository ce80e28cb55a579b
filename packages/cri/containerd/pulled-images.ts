import { type ListedNames, targetsByImage } from './image-targets.ts';
import type { ImageContent, KeptBlob } from './layer-store.ts';

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
