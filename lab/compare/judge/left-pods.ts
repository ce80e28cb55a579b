import type { Left } from './left.ts';
import type { Says } from './says.ts';
import { nameOf, type ObjectState, type RunState } from './state.ts';

type Saying<Of extends Says['of']> = ObjectState & { readonly says: Extract<Says, { of: Of }> };
type PodState = Saying<'pod'>;

const isPod = (object: ObjectState): object is PodState => object.says?.of === 'pod';

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';
const STILL_AT_WORK: readonly string[] = ['Pending', 'Running', 'Unknown'];

/** What the rules of section J call for in this state, but for those about pods that ended. */
export const leftOfPods = (state: RunState): readonly Left[] =>
  pods(state).flatMap((pod) => {
    const what = isThrough(pod) ? null : callOf(pod, state);
    return what === null ? [] : [{ id: pod.id, what }];
  });

const pods = (state: RunState): readonly PodState[] => [...state.values()].filter(isPod);

/** Finalizers alone hold it. */
const isThrough = ({ isDeleting, finalizers, says: { phase, graceSeconds } }: PodState): boolean =>
  isDeleting && finalizers.length > 0 && graceSeconds === 0 && (phase === 'Failed' || phase === 'Succeeded');

function callOf({ isDeleting, says: { nodeId } }: PodState, state: RunState): string | null {
  if (nodeId === null) return isDeleting ? 'goes without a node (cluster J9)' : null;
  const node = state.get(nodeId)?.says;
  if (node?.of !== 'node') return 'goes as its node did (cluster J8)';
  const isOut = node.ready !== 'True' && node.taints.includes(OUT_OF_SERVICE);
  return isDeleting && isOut ? 'goes from a node out of service (cluster J5)' : null;
}

/** The same for pods that ended, of which so many may stay. */
export const leftOfEndedPods =
  (threshold: number) =>
  (state: RunState): readonly Left[] => {
    const ended = pods(state).filter(({ says: { phase } }) => !STILL_AT_WORK.includes(phase));
    return ended
      .toSorted(goesBefore)
      .slice(0, Math.max(0, ended.length - threshold))
      .filter((pod) => !isThrough(pod))
      .map(({ id }) => ({ id, what: 'goes as too many ended (cluster J3)' }));
  };

function goesBefore(one: PodState, other: PodState): number {
  const isEvicted = ({ says }: PodState) => (says.phase === 'Failed' && says.reason === 'Evicted' ? 0 : 1);
  const createdAt = ({ times }: PodState) => times?.createdAtMs ?? 0;
  return (
    isEvicted(one) - isEvicted(other) ||
    createdAt(one) - createdAt(other) ||
    (nameOf(one.id) < nameOf(other.id) ? -1 : 1)
  );
}
