import type { z } from 'zod';
import type { InventoryProblem } from '../../schemas/events/inventory.ts';
import type {
  ImageLabels,
  ImageSpec,
  OtherUse,
  RuntimeContainer,
  RuntimeImage,
  RuntimeSandbox,
} from './port.ts';

/**
 * No step of a removal rests on facts older than this, and no plan of the node's own on a scan begun longer before.
 * @limit Age of a runtime listing at each step of a removal. An older one is read again.
 */
export const MAX_FACTS_AGE_MS = 1_000;

export type ListingProblem = z.infer<typeof InventoryProblem>;

/** An image with what only its status tells. */
export interface ListedImage extends RuntimeImage {
  /** `null` when the runtime does not tell them: then any label may be among them. */
  readonly labels: ImageLabels | null;
}

/** A container with what only its status tells. */
export interface ListedContainer extends RuntimeContainer {
  /** As the runtime has it; empty when it has none. */
  readonly logPath: string;
  readonly mountedImages: readonly ImageSpec[];
  /** `null` while it has not ended, and where the runtime does not tell. */
  readonly finishedAtNs: bigint | null;
}

export interface ListedSandbox extends RuntimeSandbox {
  /** The image it runs on; empty when the runtime does not tell. */
  readonly image: string;
}

export interface CompleteListing {
  readonly status: 'complete';
  readonly images: readonly ListedImage[];
  readonly containers: readonly ListedContainer[];
  readonly sandboxes: readonly ListedSandbox[];
  /** The image that new sandboxes get; empty when the runtime does not tell. */
  readonly configuredSandboxImage: string;
  /** What uses images and is in none of these lists. */
  readonly otherUses: readonly OtherUse[];
}

/** Nothing may be concluded from it but that something is wrong. */
export interface IncompleteListing {
  readonly status: 'incomplete';
  readonly problems: readonly ListingProblem[];
}

/** What a runtime holds, all of one moment, or why that could not be had. */
export type Listing = CompleteListing | IncompleteListing;

/** The three lists as the runtime gives them. */
export interface RuntimeLists {
  readonly images: readonly RuntimeImage[];
  readonly sandboxes: readonly RuntimeSandbox[];
  readonly containers: readonly RuntimeContainer[];
}
