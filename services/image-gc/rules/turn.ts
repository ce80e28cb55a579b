import type { Doubt } from '../../../packages/decision/conclusion.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { Goal } from './selection.ts';
import type { KnownShortfall } from './shortfall.ts';

/** Whether this inventory is one on which images may go. */
export type Turn = {
  /** As ordered, or with the smaller target that the policy in force asks for. */
  readonly reclaim: Reclaim | null;
  readonly notBelieved: readonly Doubt[];
} & (RemoveTurn | KeepTurn);

export interface RemoveTurn {
  readonly kind: 'remove';
  readonly goal: Goal;
  /** How far it is to the target; `null` where there is none. */
  readonly lack: KnownShortfall | null;
  /** Why images go, for people. */
  readonly why: string;
}

export interface KeepTurn {
  readonly kind: 'keep';
  readonly outcome: 'nothing-to-do' | 'waits-for-containers' | 'not-believed';
  /** Why images stay that nothing else protects. */
  readonly rule: string;
  readonly reason: string;
  /** Set when a reclaim ends here above its target. */
  readonly lack: KnownShortfall | null;
}

export const keepTurn = (
  rule: string,
  reason: string,
  outcome: KeepTurn['outcome'] = 'nothing-to-do',
): KeepTurn => ({ kind: 'keep', outcome, rule, reason, lack: null });

/** Every image stays, since facts are missing; `undefined` when there is no doubt. */
export function doubtfulTurn(doubts: readonly Doubt[], lack: KnownShortfall | null): KeepTurn | undefined {
  const [first] = doubts;
  if (!first) return undefined;
  const reason = doubts.map(({ message }) => message).join('; ');
  return { ...keepTurn(first.rule, reason, 'not-believed'), lack };
}
