import type { PodCandidate } from '../../../../schemas/events/pods.ts';
import { keptByList } from './conclude.ts';
import { compareTerminated, isStuck, isTerminated } from './pod-state.ts';
import type { PodSettings } from './settings.ts';

/** How many pods that have ended are too many (cluster J3, N12). */
export const excessCount = (terminated: number, { terminatedPodGcThreshold }: PodSettings): number =>
  terminatedPodGcThreshold > 0 ? Math.max(0, terminated - terminatedPodGcThreshold) : 0;

/** Of the pods that have ended and can go, those that are too many, in the order in which they go (cluster J3, J11). */
export function excessOf(
  pods: readonly PodCandidate[],
  terminated: number,
  settings: PodSettings,
): readonly PodCandidate[] {
  const most = excessCount(terminated, settings);
  if (most === 0) return [];
  return pods
    .filter((pod) => isTerminated(pod) && !isStuck(pod) && keptByList(pod, settings) === null)
    .toSorted(compareTerminated)
    .slice(0, most);
}
