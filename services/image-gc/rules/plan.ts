import { MAX_COMMAND_ITEMS } from '../../../schemas/command.ts';
import type { InventoryImage } from '../../../schemas/inventory.ts';

/** An image that nothing protects, with its position in the inventory. */
export interface Candidate {
  readonly position: number;
  readonly image: InventoryImage;
}

export interface Plan {
  /** In the order in which they go. */
  readonly removals: readonly Candidate[];
  /** Candidates that stay for now, and the rule that ended the plan before them. */
  readonly waiting: readonly Candidate[];
  readonly endedBy: 'D12' | 'P4' | 'P5';
  /** Sum of the listed sizes; shared layers are counted in every image (D14). */
  readonly estimatedBytes: bigint;
}

/**
 * Takes candidates in their order up to and including the one at which the listed sizes reach `missingBytes` (D12),
 * and never more than one command may hold or than half of the listed images (at least one).
 */
export function planRemovals(
  ordered: readonly Candidate[],
  missingBytes: bigint,
  listedImages: number,
): Plan {
  const most = Math.min(MAX_COMMAND_ITEMS, Math.max(1, Math.floor(listedImages / 2)));
  let estimatedBytes = 0n;
  let count = 0;
  for (const { image } of ordered.slice(0, most)) {
    if (estimatedBytes >= missingBytes) break;
    estimatedBytes += BigInt(image.sizeBytes);
    count += 1;
  }
  const endedBy = estimatedBytes >= missingBytes ? 'D12' : limitOf(most);
  return { removals: ordered.slice(0, count), waiting: ordered.slice(count), endedBy, estimatedBytes };
}

const limitOf = (most: number): 'P4' | 'P5' => (most === MAX_COMMAND_ITEMS ? 'P4' : 'P5');
