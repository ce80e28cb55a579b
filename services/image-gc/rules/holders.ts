import { reportedBytes } from '../../../packages/decision/conclusion.ts';
import { Holder } from '../../../schemas/events/command.ts';
import type { Candidate } from './candidates.ts';
import { countingOnce } from './contents.ts';
import type { Survey } from './survey.ts';

/** Candidates that stay all the same, and why. */
export interface Staying {
  readonly images: readonly Candidate[];
  readonly reason: Holder['reason'];
}

/**
 * What holds the used space, by reason: protected images, those that stay, and what is not images at all (M8). Layers that
 * several images have count once, for the first of the reasons (M40).
 */
export function heldBy(surveyed: Survey, staying: Staying, usedBytes: bigint): Holder[] {
  const held = Map.groupBy(surveyed.protected, ({ protection }) => protection.holder);
  const uncounted = countingOnce(surveyed.contents);
  const holders: Holder[] = [];
  let otherBytes = usedBytes;
  for (const reason of Holder.shape.reason.options) {
    const images = [...(held.get(reason) ?? []), ...(reason === staying.reason ? staying.images : [])];
    if (images.length === 0) continue;
    const bytes = uncounted(images);
    otherBytes -= bytes;
    holders.push({ reason, objects: images.length, bytes: reportedBytes(bytes) });
  }
  otherBytes -= uncounted(surveyed.candidates);
  if (otherBytes > 0n) holders.push({ reason: 'not-images', objects: 0, bytes: reportedBytes(otherBytes) });
  return holders;
}
