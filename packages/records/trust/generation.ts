/**
 * What replaces something has a higher generation than all that was seen of it: the time of the signer's clock, in epoch
 * milliseconds, where that is higher. So generations grow also where nobody can ask what was there before.
 */
export const nextGeneration = (nowMs: number, highestSeen: number | undefined): number =>
  Math.max(nowMs, (highestSeen ?? 0) + 1);
