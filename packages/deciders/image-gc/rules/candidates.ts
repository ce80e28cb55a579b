import type { CompleteInventory, InventoryImage } from '../../../../schemas/events/inventory.ts';
import { compareText } from '../../../../schemas/events/text-order.ts';
import { type KeepMatcher, keepMatcher } from '../../../../schemas/policy/image-pattern.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import type { Kept } from '../../../decision/conclusion.ts';
import { listedTwice } from '../../../decision/inventory-checks.ts';
import type { RemovedRule } from '../../../decision/rule-text.ts';
import { type Contents, contentsOf } from './contents.ts';
import { type Protection, type Purpose, protections } from './protection.ts';

/** An image that nothing protects, with its position in the inventory. */
export interface Candidate {
  readonly position: number;
  readonly image: InventoryImage;
}

/** A candidate that goes: because nobody used it for long (E3), or to make room (D11). */
export interface Removal extends Candidate {
  readonly rule: RemovedRule;
  /** What it frees once all that go before it are gone. */
  readonly estimatedBytes: bigint;
}

/** A candidate that stays all the same. */
export interface Spared extends Candidate, Kept {}

/** The images of one inventory, each either protected or a candidate (D7). */
export interface Eligibility {
  /** In the order of the inventory. */
  readonly protected: readonly ProtectedImage[];
  /** In the order in which they would go (D8). */
  readonly candidates: readonly Candidate[];
  /** Of every image of the inventory. */
  readonly contents: Contents;
  /** The keep rules of the policy, as they were held against the images. */
  readonly matcher: KeepMatcher;
  /** Ids that the inventory lists more than once (C5). */
  readonly listedTwice: ReadonlySet<string>;
}

/** An image that may not go, with its position in the inventory. */
export interface ProtectedImage extends Candidate {
  readonly protection: Protection;
}

export function eligibilityOf(inventory: CompleteInventory, policy: Policy, purpose: Purpose): Eligibility {
  const twice = listedTwice(inventory.images.map(({ id }) => id));
  const matcher = keepMatcher(policy.keep, purpose.steps);
  const protectionOf = protections(inventory, policy, { ...purpose, matcher }, twice);
  const protectedImages: ProtectedImage[] = [];
  const candidates: Candidate[] = [];
  for (const [position, image] of inventory.images.entries()) {
    const protection = protectionOf(image);
    if (protection) protectedImages.push({ position, image, protection });
    else candidates.push({ position, image });
  }
  return {
    protected: protectedImages,
    candidates: candidates.sort((a, b) => compareCandidates(a.image, b.image)),
    contents: contentsOf(inventory, policy, twice),
    matcher,
    listedTwice: twice,
  };
}

/** What is left once the images at these positions are gone. */
export const without = (eligibility: Eligibility, gone: ReadonlySet<number>): Eligibility =>
  gone.size === 0
    ? eligibility
    : {
        ...eligibility,
        protected: eligibility.protected.filter(({ position }) => !gone.has(position)),
        candidates: eligibility.candidates.filter(({ position }) => !gone.has(position)),
      };

/**
 * The order in which images go (D8): least recently used first, those never seen in use before all others; then the
 * first detected; then the larger; then by id, so that no two images are equal.
 */
function compareCandidates(a: InventoryImage, b: InventoryImage): number {
  return (
    compareLastUsed(a.lastUsedMs, b.lastUsedMs) ||
    a.firstDetectedMs - b.firstDetectedMs ||
    b.sizeBytes - a.sizeBytes ||
    compareText(a.id, b.id)
  );
}

/** `null` is the kubelet's zero time: before every instant, 1970 included. */
function compareLastUsed(a: number | null, b: number | null): number {
  if (a === null || b === null) return Number(b === null) - Number(a === null);
  return a - b;
}
