import { Holder } from '../../../schemas/command.ts';
import { reportedBytes } from '../../shared/decision/conclusion.ts';
import type { Candidate } from './candidates.ts';
import { bytesOfAll, countingOnce } from './contents.ts';
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
  const held = Map.groupBy(
    [
      ...surveyed.protected.map(({ position, protection }) => ({ position, reason: protection.holder })),
      ...staying.images.map(({ position }) => ({ position, reason: staying.reason })),
    ],
    ({ reason }) => reason,
  );
  const uncounted = countingOnce(surveyed.contents);
  const ofImages = Holder.shape.reason.options.flatMap((reason) => {
    const images = held.get(reason) ?? [];
    const bytes = images.reduce((sum, { position }) => sum + uncounted(position), 0n);
    return images.length === 0 ? [] : [{ reason, objects: images.length, bytes: reportedBytes(bytes) }];
  });
  const otherBytes = usedBytes - bytesOfAll(surveyed.contents);
  return otherBytes > 0n
    ? [...ofImages, { reason: 'not-images', objects: 0, bytes: reportedBytes(otherBytes) }]
    : ofImages;
}
