import { listedTwice } from '../../../packages/decision/listing.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { compareCandidates } from './candidate-order.ts';
import type { Candidate } from './candidates.ts';
import { type Contents, contentsOf } from './contents.ts';
import { type Protection, type Purpose, protections } from './protection.ts';

/** The images of one inventory, each either protected or a candidate (D7). */
export interface Survey {
  /** In the order of the inventory. */
  readonly protected: readonly ProtectedImage[];
  /** In the order in which they would go (D8). */
  readonly candidates: readonly Candidate[];
  /** Of every image of the inventory. */
  readonly contents: Contents;
  /** Ids that the inventory lists more than once (C5). */
  readonly listedTwice: ReadonlySet<string>;
}

/** An image that may not go, with its position in the inventory. */
export interface ProtectedImage extends Candidate {
  readonly protection: Protection;
}

export function survey(inventory: CompleteInventory, policy: Policy, purpose: Purpose): Survey {
  const twice = listedTwice(inventory.images.map(({ id }) => id));
  const protectionOf = protections(inventory, policy, purpose, twice);
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
    listedTwice: twice,
  };
}

/** The survey of what is left once the images at these positions are gone. */
export const without = (surveyed: Survey, gone: ReadonlySet<number>): Survey =>
  gone.size === 0
    ? surveyed
    : {
        ...surveyed,
        protected: surveyed.protected.filter(({ position }) => !gone.has(position)),
        candidates: surveyed.candidates.filter(({ position }) => !gone.has(position)),
      };
