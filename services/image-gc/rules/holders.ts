import { Holder } from '../../../schemas/command.ts';
import { reportedBytes } from '../../shared/decision/conclusion.ts';
import type { Candidate } from './plan.ts';
import type { Survey } from './survey.ts';

/** Candidates that stay all the same, and why. */
export interface Staying {
  readonly images: readonly Candidate[];
  readonly reason: Holder['reason'];
}

/** What holds the used space, by reason: protected images, those that stay, and what is not images at all (M8). */
export function heldBy(surveyed: Survey, staying: Staying, usedBytes: bigint): Holder[] {
  const sizes = Map.groupBy(
    [
      ...surveyed.protected.values().map(({ holder, sizeBytes }) => ({ reason: holder, sizeBytes })),
      ...staying.images.map(({ image }) => ({ reason: staying.reason, sizeBytes: image.sizeBytes })),
    ],
    ({ reason }) => reason,
  );
  const ofImages = Holder.shape.reason.options.flatMap((reason) => {
    const held = sizes.get(reason);
    return held ? [{ reason, objects: held.length, bytes: reportedBytes(sumBytes(held)) }] : [];
  });
  const otherBytes = usedBytes - surveyed.listedBytes;
  return otherBytes > 0n
    ? [...ofImages, { reason: 'not-images', objects: 0, bytes: reportedBytes(otherBytes) }]
    : ofImages;
}

const sumBytes = (images: readonly { readonly sizeBytes: number }[]): bigint =>
  images.reduce((sum, { sizeBytes }) => sum + BigInt(sizeBytes), 0n);
