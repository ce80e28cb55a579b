import type { RuntimeImage } from '../port.ts';
import type { ImageContent } from './layer-store.ts';

/** An image as CRI lists it. */
export type ListedNames = Pick<RuntimeImage, 'id' | 'repoTags' | 'repoDigests'>;

/**
 * By image id, the digests of its indexes and manifests; an image of which containerd has no name or no content is not
 * there.
 */
export function targetsByImage(
  listed: readonly ListedNames[],
  { images, blobs }: ImageContent,
): ReadonlyMap<string, readonly string[]> {
  const targets = new Map(images.map(({ name, target }) => [name, target]));
  return new Map(
    listed
      .map((image): [string, string[]] => [
        image.id,
        targetsNamedBy(image, targets).filter((target) => blobs.has(target)),
      ])
      .filter(([, ofImage]) => ofImage.length > 0),
  );
}

/** containerd keeps an image under each of its names, and under its id. */
function targetsNamedBy(
  { id, repoTags, repoDigests }: ListedNames,
  targets: ReadonlyMap<string, string>,
): string[] {
  const found = [id, ...repoTags, ...repoDigests].flatMap((name) => targets.get(name) ?? []);
  return [...new Set(found)];
}
