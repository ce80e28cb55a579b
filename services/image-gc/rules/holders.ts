import { Holder } from '../../../schemas/command.ts';
import { reportedBytes } from '../../shared/decision/conclusion.ts';
import type { Candidate } from './candidates.ts';
import type { Survey } from './survey.ts';

/** Candidates that stay all the same, and why. */
export interface Staying {
  readonly images: readonly Candidate[];
  readonly reason: Holder['reason'];
}

/** What holds the used space, by reason: protected images, those that stay, and what is not images at all (M8). */
export function heldBy(surveyed: Survey, staying: Staying, usedBytes: bigint): Holder[] {
  const held = new Map<Holder['reason'], Share>();
  for (const { image, protection } of surveyed.protected) add(held, protection.holder, image.sizeBytes);
  for (const { image } of staying.images) add(held, staying.reason, image.sizeBytes);
  const ofImages = Holder.shape.reason.options.flatMap((reason) => {
    const share = held.get(reason);
    return share ? [{ reason, objects: share.objects, bytes: reportedBytes(share.bytes) }] : [];
  });
  const otherBytes = usedBytes - surveyed.listedBytes;
  return otherBytes > 0n
    ? [...ofImages, { reason: 'not-images', objects: 0, bytes: reportedBytes(otherBytes) }]
    : ofImages;
}

interface Share {
  objects: number;
  bytes: bigint;
}

function add(held: Map<Holder['reason'], Share>, reason: Holder['reason'], sizeBytes: number): void {
  const share = held.get(reason) ?? { objects: 0, bytes: 0n };
  share.objects += 1;
  share.bytes += BigInt(sizeBytes);
  held.set(reason, share);
}
