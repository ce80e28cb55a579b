import { type ListedNames, targetsByImage } from './image-targets.ts';
import type { ImageContent } from './layer-store.ts';

/**
 * By image id, whether this node pulled it (M12); an image of which containerd has no name or no content is not there. The
 * index or manifest tells it alone: layers may be those of another image that was pulled.
 */
export const pulledImages = (
  listed: readonly ListedNames[],
  content: ImageContent,
): ReadonlyMap<string, boolean> =>
  new Map(
    [...targetsByImage(listed, content)].map(([id, targets]) => [
      id,
      targets.some((target) => content.blobs.get(target)?.isPulled),
    ]),
  );
