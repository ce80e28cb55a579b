import { reportedBytes } from '../../../packages/decision/conclusion.ts';
import type { Verdict } from '../../../schemas/events/decision.ts';
import type { Candidate, Removal, Spared } from './candidates.ts';
import type { ProtectedImage } from './survey.ts';

/** What becomes of every image of an inventory. */
export interface Fates {
  readonly removals: readonly Removal[];
  readonly spared: readonly Spared[];
  readonly protected: readonly ProtectedImage[];
}

/** One verdict for every image, in the order of the inventory. `place` is that in the order of removal, from 1. */
export function verdicts({ removals, spared, protected: kept }: Fates): Verdict[] {
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
