import { MAX_COMMAND_ITEMS } from '../../../schemas/command.ts';
import type { Removal } from './candidates.ts';

/** A plan, cut to what one command may hold. */
export interface Limited {
  readonly commanded: readonly Removal[];
  /** The rest of the plan, which a later inventory may bring, and the rule that cut it off. */
  readonly later: readonly Removal[];
  readonly endedBy: 'P4' | 'P5';
  /** What all that is commanded frees (M7), or the sum of its listed sizes (D14). */
  readonly estimatedBytes: bigint;
}

/** Never more than one command may hold, nor than half of the listed images, but one at least. */
export function withinCommand(removals: readonly Removal[], listedImages: number): Limited {
  const most = Math.min(MAX_COMMAND_ITEMS, Math.max(1, Math.floor(listedImages / 2)));
  const commanded = removals.slice(0, most);
  return {
    commanded,
    later: removals.slice(most),
    endedBy: most === MAX_COMMAND_ITEMS ? 'P4' : 'P5',
    estimatedBytes: commanded.reduce((sum, removal) => sum + removal.estimatedBytes, 0n),
  };
}
