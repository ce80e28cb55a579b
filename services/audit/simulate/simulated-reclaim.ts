import { atNextAction, MAX_RECLAIM_ROUNDS, type Reclaim } from '../../../schemas/events/reclaim.ts';

/** What became of the objects of a command. */
export interface Done {
  readonly removed: number;
  /** Of these, those of which nobody knows what they free. */
  readonly unmeasured: number;
}

export interface StepOutcome extends Done {
  readonly isReached: boolean;
  /** The decider said that nothing more can go. */
  readonly toldUnrelieved: boolean;
}

/** Goes through the steps of a reclaim; whether it ends above its target. */
export function goThrough(begun: Reclaim, take: (reclaim: Reclaim) => StepOutcome): boolean {
  let unmeasured = 0;
  let reclaim = begun;
  for (;;) {
    const outcome = take(reclaim);
    unmeasured += outcome.unmeasured;
    if (outcome.isReached || outcome.toldUnrelieved) return outcome.toldUnrelieved;
    const next = following(reclaim, outcome.removed > 0);
    // With effects that nobody knows it may have been enough.
    if (next === null) return outcome.removed > 0 && unmeasured === 0;
    reclaim = next;
  }
}

/** As the executor and the deciders have it: images in rounds while these remove something, then the next action. */
const following = (reclaim: Reclaim, mayHelp: boolean): Reclaim | null =>
  reclaim.step === 'images' && mayHelp && reclaim.round < MAX_RECLAIM_ROUNDS
    ? { ...reclaim, round: reclaim.round + 1 }
    : atNextAction(reclaim);
