import { MAX_COMMAND_ITEMS } from '../../../../schemas/events/command.ts';
import type { Facts } from '../../../decision/conclusion.ts';
import type { KeptRule } from '../../../decision/rule-text.ts';
import type { Candidate, Removal, Spared } from './candidates.ts';
import type { BytesAt } from './contents.ts';

/** What ends a removal of images. */
export type Goal =
  /** Every image that nobody used for longer than that (E3); `null` is an image that was never used. */
  | {
      readonly kind: 'unused';
      readonly maximumAgeMs: number;
      readonly unusedMs: (candidate: Candidate) => number | null;
    }
  /** The image at which the freed bytes reach `missing` (D12), and with `oneAtLeast` one in any case (D13). */
  | { readonly kind: 'bytes'; readonly missing: bigint; readonly oneAtLeast: boolean }
  /** Nothing: every candidate goes (F1), or measuring tells when it is enough (M13). */
  | { readonly kind: 'none' };

export interface Selection {
  /** In the order in which they go, however many one command may hold. */
  readonly removals: readonly Removal[];
  readonly spared: readonly Spared[];
}

/** Which candidates go, of those given in the order of removal (D8). `free` is what each frees, asked in that order. */
export function select(ordered: readonly Candidate[], goal: Goal, free: BytesAt): Selection {
  switch (goal.kind) {
    case 'unused':
      return unused(ordered, goal, free);
    case 'bytes':
      return untilReached(ordered, goal, free);
    case 'none':
      return { removals: ordered.map((candidate) => toMakeRoom(candidate, free)), spared: [] };
  }
}

function unused(
  ordered: readonly Candidate[],
  { maximumAgeMs, unusedMs }: Extract<Goal, { kind: 'unused' }>,
  free: BytesAt,
): Selection {
  const removals: Removal[] = [];
  const spared: Spared[] = [];
  for (const candidate of ordered) {
    const ageMs = unusedMs(candidate);
    if (ageMs === null || ageMs > maximumAgeMs) removals.push(goes(candidate, 'E3', free));
    else spared.push(spare(candidate, 'E3', { unusedMs: ageMs, maximumAgeMs }));
  }
  return { removals, spared };
}

function untilReached(
  ordered: readonly Candidate[],
  { missing, oneAtLeast }: Extract<Goal, { kind: 'bytes' }>,
  free: BytesAt,
): Selection {
  const removals: Removal[] = [];
  let freed = 0n;
  for (const candidate of ordered) {
    if (freed >= missing && (removals.length > 0 || !oneAtLeast)) break;
    const removal = toMakeRoom(candidate, free);
    freed += removal.estimatedBytes;
    removals.push(removal);
  }
  const count = removals.length;
  return {
    removals,
    spared: ordered
      .slice(count)
      .map((candidate, index) => spare(candidate, 'D12', { place: count + index + 1, removed: count })),
  };
}

/** One that stays all the same, and why. */
export const spare = ({ position, image }: Candidate, rule: KeptRule, facts: Facts): Spared => ({
  position,
  image,
  rule,
  facts,
});

const goes = ({ position, image }: Candidate, rule: Removal['rule'], free: BytesAt): Removal => ({
  position,
  image,
  rule,
  estimatedBytes: free(position),
});

const toMakeRoom = (candidate: Candidate, free: BytesAt): Removal => goes(candidate, 'D11', free);

/** A plan, cut to what one command may hold. */
export interface Limited {
  readonly commanded: readonly Removal[];
  /** The rest of the plan, which a later inventory may bring. */
  readonly later: readonly Spared[];
  /** What all that is commanded frees (M7), or the sum of its listed sizes (D14). */
  readonly estimatedBytes: bigint;
}

/** Never more than one command may hold, nor than half of the listed images, but one at least. */
export function withinCommand(removals: readonly Removal[], listedImages: number): Limited {
  const most = Math.min(MAX_COMMAND_ITEMS, Math.max(1, Math.floor(listedImages / 2)));
  const commanded = removals.slice(0, most);
  return {
    commanded,
    later: removals.slice(most).map(({ position, image }, index) => ({
      position,
      image,
      rule: most === MAX_COMMAND_ITEMS ? 'P4' : 'P5',
      facts: { place: most + index + 1, removed: most },
    })),
    estimatedBytes: commanded.reduce((sum, removal) => sum + removal.estimatedBytes, 0n),
  };
}
