import type { PodCandidate } from '../../../../schemas/events/pods.ts';
import { compareText } from '../../../../schemas/events/text-order.ts';

const STILL_AT_WORK: readonly string[] = ['Pending', 'Running', 'Unknown'];

/** A pod without a phase counts too (cluster J3). */
export const isTerminated = ({ phase }: Pick<PodCandidate, 'phase'>): boolean =>
  !STILL_AT_WORK.includes(phase);

/** Its containers have ended, by its own word (cluster J2). */
export const isFinal = ({ phase }: Pick<PodCandidate, 'phase'>): boolean =>
  phase === 'Succeeded' || phase === 'Failed';

export const isDeleting = ({ object }: Pick<PodCandidate, 'object'>): boolean =>
  object.deletionTimestamp !== null;

/** One more deletion would change nothing: finalizers alone hold it (cluster J11). */
export const isStuck = (pod: Pick<PodCandidate, 'object' | 'phase' | 'graceSeconds'>): boolean =>
  isDeleting(pod) && pod.graceSeconds === 0 && pod.object.finalizers.length > 0 && isFinal(pod);

/** Evicted ones first, then the oldest, then by name: the order in which pods that ended go (cluster J3). */
export function compareTerminated(one: PodCandidate, other: PodCandidate): number {
  if (one.isEvicted !== other.isEvicted) return one.isEvicted ? -1 : 1;
  if (one.createdAtMs !== other.createdAtMs) return one.createdAtMs - other.createdAtMs;
  return compareText(nameOf(one), nameOf(other));
}

const nameOf = ({ object }: PodCandidate): string => `${object.name} ${object.namespace} ${object.uid}`;
