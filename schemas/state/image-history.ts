import { z } from 'zod';
import { MAX_INVENTORY_OBJECTS } from '../events/inventory.ts';
import { Instant } from '../events/time.ts';

/** Name of the file in the node's state directory. Written by the agent alone. */
export const IMAGE_HISTORY_FILE = 'image-history';
/**
 * Room for as many images as an inventory may hold, at some 110 bytes each.
 * @limit Room for the image history in the state directory.
 */
export const IMAGE_HISTORY_BYTES = 110 * MAX_INVENTORY_OBJECTS;

/**
 * When each image was first detected and last used (C1, M2), in milliseconds since the boot of `at`, negative for times
 * before that boot. `lastUsedMs` is `null` for "never", and equals `at.sinceBootMs` when the last detection saw the
 * image in use. The key is the image id, with `,<runtime handler>` when the runtime names one (C2). `watchedSinceMs` is the
 * first of the detections that led to `at` without a break (E2), and `clockSteadySince` one of them, since which nobody has
 * set the wall clock.
 */
export const ImageHistoryFile = z.object({
  version: z.literal(1),
  /** The last detection. */
  at: Instant,
  watchedSinceMs: z.int().nonnegative(),
  clockSteadySince: Instant,
  images: z.array(z.tuple([z.string().min(1), z.int(), z.int().nullable()])),
});
export type ImageHistoryFile = z.infer<typeof ImageHistoryFile>;
