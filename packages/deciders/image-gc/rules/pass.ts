import type { Resource } from '../../../../schemas/events/filesystem.ts';
import type { Reclaim } from '../../../../schemas/events/reclaim.ts';
import type { Doubt, KeepingDoubt } from '../../../decision/conclusion.ts';
import type { KeptRule } from '../../../decision/rule-text.ts';
import type { Goal } from './selection.ts';

/** How far a node is from a target, by the reading in its inventory. */
export interface KnownShortfall {
  readonly kind: 'known';
  readonly resource: Resource;
  /** Bytes available or inodes free. */
  readonly availableNow: bigint;
  /** Zero or less: the target is reached. */
  readonly missing: bigint;
  /** Bytes in use on the target's filesystem; 0 where they are not known. */
  readonly usedBytes: bigint;
}

/** Whether this inventory is one on which images may go. */
export type ImagePass = {
  /** As ordered, or with the smaller target that the policy in force asks for. */
  readonly reclaim: Reclaim | null;
  readonly notBelieved: readonly Doubt[];
} & (RemovingPass | KeepingPass);

export interface RemovingPass {
  readonly kind: 'remove';
  readonly goal: Goal;
  /** How far it is to the target; `null` where there is none. */
  readonly lack: KnownShortfall | null;
  /** Why images go, for people. */
  readonly why: string;
}

export interface KeepingPass {
  readonly kind: 'keep';
  readonly outcome: 'nothing-to-do' | 'waits-for-containers' | 'not-believed';
  /** Why images stay that nothing else protects. */
  readonly rule: KeptRule;
  readonly reason: string;
  /** Set when a reclaim ends here above its target. */
  readonly lack: KnownShortfall | null;
}

export const keepingPass = (
  rule: KeptRule,
  reason: string,
  outcome: KeepingPass['outcome'] = 'nothing-to-do',
): KeepingPass => ({ kind: 'keep', outcome, rule, reason, lack: null });

/** Every image stays, since facts are missing; `undefined` when there is no doubt. */
export function doubtfulPass(
  doubts: readonly KeepingDoubt[],
  lack: KnownShortfall | null,
): KeepingPass | undefined {
  const [first] = doubts;
  if (!first) return undefined;
  const reason = doubts.map(({ message }) => message).join('; ');
  return { ...keepingPass(first.rule, reason, 'not-believed'), lack };
}
