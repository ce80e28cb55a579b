import type { NodeClock } from '../../../../packages/machine/clock.ts';
import { type Attempt, refused } from '../removal/removal-attempt.ts';
import type { Judgement } from './judge-object.ts';
import { isFresh, type RuntimeFacts } from './runtime-facts.ts';

/** So often the facts may grow old before one step of a removal, before the object is left alone. */
const MAX_JUDGEMENTS = 3;

/** What the removal of one object asks before each step that nobody can undo. */
export interface FreshFacts {
  /**
   * What `look` sees, by facts that are fresh still when it has seen it: where they grew old the object is judged again
   * and looked at once more. Or why the rest is left undone.
   */
  readonly confirm: <Seen extends object>(look: Look<Seen>) => Promise<Seen | Attempt>;
  /** Told of each stop: what was seen before it tells nothing of what it left. */
  readonly outdate: () => void;
}

type Look<Seen> = (facts: RuntimeFacts) => Promise<Seen | Attempt>;

/** Where the facts themselves are all there is to see. */
export const factsAlone: Look<RuntimeFacts> = async (facts) => facts;

type MayGo = Extract<Judgement, { readonly mayGo: true }>;

/** Begins with the facts by which the object may go. */
export function freshFacts(first: MayGo, judge: () => Promise<Judgement>, clock: NodeClock): FreshFacts {
  let last: MayGo | null = first;
  const judgedLately = async (): Promise<Judgement> => {
    if (last !== null && isFresh(last.reading, clock.now())) return last;
    const judgement = await judge();
    last = judgement.mayGo ? judgement : null;
    return judgement;
  };
  return {
    confirm: async (look) => {
      for (let count = 0; count < MAX_JUDGEMENTS; count++) {
        const judgement = await judgedLately();
        if (!judgement.mayGo) return judgement.attempt;
        const seen = await look(judgement.reading.facts);
        if ('outcome' in seen || isFresh(judgement.reading, clock.now())) return seen;
      }
      return TOO_SLOW;
    },
    outdate: () => {
      last = null;
    },
  };
}

const TOO_SLOW: Attempt = refused({
  reason: 'runtime-unavailable',
  message: 'the runtime and the disk are too slow to remove on facts of the last second',
});
