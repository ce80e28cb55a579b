import { Holder } from '../../../../schemas/events/command.ts';
import type { Verdict } from '../../../../schemas/events/decision.ts';
import { reportedBytes } from '../../../decision/conclusion.ts';
import type { Candidate, Eligibility, ProtectedImage, Removal, Spared } from './candidates.ts';
import { countingOnce } from './contents.ts';

/** What becomes of every image of an inventory. */
interface ImagesByVerdict {
  readonly removals: readonly Removal[];
  readonly spared: readonly Spared[];
  readonly protected: readonly ProtectedImage[];
}

/** One verdict for every image, in the order of the inventory. `place` is that in the order of removal, from 1. */
export function verdicts({ removals, spared, protected: kept }: ImagesByVerdict): Verdict[] {
  // Every image has a place of its own here, so nothing is to be sorted.
  const all = new Array<Verdict>(removals.length + spared.length + kept.length);
  for (const { position, protection } of kept)
    all[position] = stays(position, protection.rule, protection.facts);
  for (const { position, rule, facts } of spared) all[position] = stays(position, rule, facts);
  for (const [index, removal] of removals.entries()) all[removal.position] = goes(removal, index);
  return all;
}

// Members stand in the order of canonical JSON, so that hundreds of verdicts are hashed without being copied.
const stays = (position: Candidate['position'], rule: string, facts: Verdict['facts']): Verdict => ({
  action: 'keep',
  facts,
  kind: 'image',
  position,
  rule,
});

const goes = ({ position, image, rule, estimatedBytes }: Removal, index: number): Verdict => ({
  action: 'remove',
  facts: {
    estimatedBytes: reportedBytes(estimatedBytes),
    lastUsedMs: image.lastUsedMs,
    place: index + 1,
  },
  kind: 'image',
  position,
  rule,
});

/** Candidates that stay all the same, and why. */
interface Staying {
  readonly images: readonly Candidate[];
  readonly reason: Holder['reason'];
}

/**
 * What holds the used space, by reason: protected images, those that stay, and what is not images at all (M8). Layers that
 * several images have count once, for the first of the reasons (M40).
 */
export function heldBy(eligibility: Eligibility, staying: Staying, usedBytes: bigint): Holder[] {
  const held = Map.groupBy(eligibility.protected, ({ protection }) => protection.holder);
  const uncounted = countingOnce(eligibility.contents);
  const holders: Holder[] = [];
  let otherBytes = usedBytes;
  for (const reason of Holder.shape.reason.options) {
    const images = [...(held.get(reason) ?? []), ...(reason === staying.reason ? staying.images : [])];
    if (images.length === 0) continue;
    const bytes = uncounted(images);
    otherBytes -= bytes;
    holders.push({ reason, objects: images.length, bytes: reportedBytes(bytes) });
  }
  otherBytes -= uncounted(eligibility.candidates);
  if (otherBytes > 0n) holders.push({ reason: 'not-images', objects: 0, bytes: reportedBytes(otherBytes) });
  return holders;
}
