import { z } from 'zod';

/** Name of the file in the node's state directory. Written by the executor alone, read by the agent. */
export const REMOVED_IMAGES_FILE = 'removed-images';
/**
 * More than the commands between two detections can remove; beyond it the oldest removals are forgotten.
 * @limit Removed images that a node remembers to detect that they come back.
 */
export const MAX_REMOVED_IMAGES = 200;
/** Room for that many, with ids of up to 256 characters. */
export const REMOVED_IMAGES_BYTES = 400 * MAX_REMOVED_IMAGES;

/**
 * Images that the executor removed, at once or late, oldest first, at milliseconds since that boot. One that is pulled
 * again before the agent looks is another image, whose record begins anew (C4).
 */
export const RemovedImagesFile = z.object({
  version: z.literal(1),
  images: z.array(
    z.object({ id: z.string().min(1), bootId: z.string().min(1), sinceBootMs: z.int().nonnegative() }),
  ),
});
export type RemovedImagesFile = z.infer<typeof RemovedImagesFile>;
