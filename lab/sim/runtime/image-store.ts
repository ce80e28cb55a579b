import { parseReference, repositoryOf } from '../../../packages/cri/image-names.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { refuseRemoval } from './faults.ts';
import { type ContentPiece, contentOf, pieceKey } from './image-content.ts';
import type { SimulatedImage } from './objects.ts';
import type { RuntimeParts } from './runtime-parts.ts';

/** The images of a node; behaves as containerd's image service. */
export interface ImageStore {
  readonly images: ReadonlyMap<string, SimulatedImage>;
  /** Puts an image there without a pull, whatever the disk says. */
  addImage(image: SimulatedImage): void;
  /** Resolves to the image id; fails when the registry lacks the image or the disk has no room. */
  pullImage(reference: string): Promise<string>;
  /** Gives an image one more name. */
  tagImage(reference: string, another: string): void;
  /** Removes the image with all its names. An unknown one is no error, and one in use goes too: its bytes stay (K4). */
  removeImage(reference: string): void;
  /** By id, name or digest. */
  findImage(reference: string): SimulatedImage | undefined;
  /** Layers of which no image is listed or used any more become available. */
  releaseUnused(): void;
}

export function createImageStore(parts: RuntimeParts, isUsed: (imageId: string) => boolean): ImageStore {
  const images = new Map<string, SimulatedImage>();
  const contents = new Map<string, readonly ContentPiece[]>();
  const findImage = (reference: string) => [...images.values()].find((image) => isCalled(image, reference));
  const addImage = (image: SimulatedImage) => {
    takeTagsFromOthers(images, image);
    images.set(image.id, image);
    contents.set(image.id, contentOf(image));
    for (const piece of contentOf(image)) parts.disk.store(pieceKey(piece), piece.sizeBytes);
  };
  const releaseUnused = () => {
    for (const [id, pieces] of contents) {
      if (images.has(id) || isUsed(id)) continue;
      contents.delete(id);
      for (const piece of missingIn(contents, pieces)) parts.disk.release(pieceKey(piece));
    }
  };
  return {
    images,
    addImage,
    findImage,
    releaseUnused,
    pullImage: async (reference) => {
      const pulled = await fetchImage(parts, reference, contents);
      addImage(mergeNames(images.get(pulled.id), pulled));
      return pulled.id;
    },
    tagImage: (reference, another) => {
      const image = findImage(reference);
      if (image) addImage({ ...image, repoTags: [...image.repoTags, fullName(another)] });
    },
    removeImage: (reference) => {
      const image = findImage(reference);
      if (!image || parts.faults.keptImages.has(image.id)) return;
      refuseRemoval(parts.faults, image.id);
      images.delete(image.id);
      releaseUnused();
    },
  };
}

async function fetchImage(
  { registry, disk, logBytes, sandboxImage }: RuntimeParts,
  reference: string,
  contents: ReadonlyMap<string, readonly ContentPiece[]>,
): Promise<SimulatedImage> {
  const found = registry(reference);
  if (!found) throw new FleetGcError('RUNTIME_NOT_FOUND', `failed to pull ${reference}: not found`);
  const free = disk.capacityBytes - disk.usedBytes(logBytes());
  const missing = missingIn(contents, contentOf(found)).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0n);
  if (missing > free)
    throw new FleetGcError('RUNTIME_FAILED', `failed to pull ${reference}: no space left on device`);
  const name = fullName(reference);
  return {
    id: found.id,
    sizeBytes: found.sizeBytes,
    labels: found.labels,
    repoTags: reference.includes('@') ? [] : [name],
    repoDigests: found.digest === '' ? [] : [`${repositoryOf(name)}@${found.digest}`],
    pinned: name === fullName(sandboxImage),
    isPulled: found.digest !== '',
    ...(found.layers && { layers: found.layers }),
  };
}

/** The pieces that no other image has on the disk. */
function missingIn(
  contents: ReadonlyMap<string, readonly ContentPiece[]>,
  pieces: readonly ContentPiece[],
): readonly ContentPiece[] {
  const there = new Set([...contents.values()].flat().map(pieceKey));
  return pieces.filter((piece) => !there.has(pieceKey(piece)));
}

const mergeNames = (known: SimulatedImage | undefined, pulled: SimulatedImage): SimulatedImage => ({
  ...pulled,
  repoTags: [...new Set([...(known?.repoTags ?? []), ...pulled.repoTags])],
  repoDigests: [...new Set([...(known?.repoDigests ?? []), ...pulled.repoDigests])],
  pinned: pulled.pinned || (known?.pinned ?? false),
  isPulled: pulled.isPulled || (known?.isPulled ?? false),
});

/** A tag names one image: the one that had it before keeps only its digest. */
function takeTagsFromOthers(images: Map<string, SimulatedImage>, { id, repoTags }: SimulatedImage): void {
  for (const other of images.values())
    if (other.id !== id && other.repoTags.some((tag) => repoTags.includes(tag)))
      images.set(other.id, {
        ...other,
        repoTags: other.repoTags.filter((tag) => !repoTags.includes(tag)),
      });
}

const isCalled = ({ id, repoTags, repoDigests }: SimulatedImage, reference: string): boolean =>
  id === reference ||
  id === `sha256:${reference}` ||
  repoTags.includes(fullName(reference)) ||
  repoDigests.includes(reference);

const fullName = (reference: string): string => parseReference(reference)?.names[0] ?? reference;
