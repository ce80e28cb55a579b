import type { Fleet } from './fleet/fleet.ts';

/** A minimum age that a test can wait for, and within which a busy machine pulls two images and is relieved. */
export const YOUNG_MS = 20_000;
/** Detections are 10 s apart, so an image can be that much older than its record says. */
const OLD_ENOUGH_MS = YOUNG_MS + 11_000;

/** Resolves when what is on the nodes now is older than that. */
export async function untilOldEnough({ log }: Pick<Fleet, 'log'>): Promise<void> {
  const since = performance.now();
  await log.until(
    'the minimum age to pass',
    2 * OLD_ENOUGH_MS,
    () => performance.now() - since > OLD_ENOUGH_MS,
  );
}
