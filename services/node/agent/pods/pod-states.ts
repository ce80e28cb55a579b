import type { z } from 'zod';
import type { KubeletPod, PodListing } from '../../../../packages/cri/kubelet/pod-source.ts';
import type { InventoryPod } from '../../../../schemas/events/inventory.ts';

export type PodState = z.infer<typeof InventoryPod>;

/** Which of the kubelet's sources must have delivered: `kubernetes.io/config.source`. */
export type KubeletSource = 'api' | 'file' | 'http';

/** An answer of the kubelet and when it was asked for and came, in milliseconds since boot; `null` when it failed. */
export interface PodAnswer {
  readonly listing: PodListing;
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
}

/** The pods that the runtime showed in a listing that was complete before the kubelet was asked. */
export interface RuntimePods {
  /** UIDs of all containers and sandboxes. */
  readonly uids: ReadonlySet<string>;
  /** UIDs with a running container or a ready sandbox. */
  readonly active: ReadonlySet<string>;
}

/** Since when each UID of the runtime has been missing from every answer of one kubelet process. */
export interface PodEvidence {
  readonly kubeletInstance: string | null;
  readonly missingSinceMs: ReadonlyMap<string, number>;
}

export const NO_EVIDENCE: PodEvidence = { kubeletInstance: null, missingSinceMs: new Map() };

/** Two good answers must lie so far apart before a UID that both lack is gone. */
const GONE_AFTER_MS = 60_000;

/**
 * Adds one answer to the evidence. One that says nothing about absence (failed, empty, a configured source without a
 * pod, another kubelet process) takes with it what earlier ones said. The runtime was listed before the kubelet was
 * asked: the kubelet knows a pod before its sandbox exists, so a UID that it lacks is not one about to start.
 */
export function weigh(
  evidence: PodEvidence,
  answer: PodAnswer | null,
  runtime: RuntimePods,
  sources: readonly KubeletSource[],
): PodEvidence {
  if (answer === null || !haveDelivered(answer.listing, sources)) return NO_EVIDENCE;
  const { listing, answeredAtMs } = answer;
  const isSameProcess = evidence.kubeletInstance === listing.kubeletInstance;
  const known = new Set(listing.pods.map(({ uid }) => uid));
  const missing = [...runtime.uids].filter((uid) => !known.has(uid));
  const sinceMs = (uid: string): number =>
    (isSameProcess ? evidence.missingSinceMs.get(uid) : undefined) ?? answeredAtMs;
  return {
    kubeletInstance: listing.kubeletInstance,
    missingSinceMs: new Map(missing.map((uid) => [uid, sinceMs(uid)])),
  };
}

/** Every configured source has at least one pod in this answer (A7). Without a configured source none has. */
export const haveDelivered = ({ pods }: PodListing, sources: readonly KubeletSource[]): boolean =>
  sources.length > 0 && sources.every((source) => pods.some((pod) => pod.source === source));

/** What each UID allows (A6, A8), for all that runtime or kubelet know, in the order of the UIDs. */
export function podStates(evidence: PodEvidence, answer: PodAnswer | null, runtime: RuntimePods): PodState[] {
  const known = Map.groupBy(answer?.listing.pods ?? [], ({ uid }) => uid);
  const uids = new Set([...known.keys(), ...runtime.uids].filter((uid) => uid !== ''));
  return [...uids].toSorted().map((uid) => {
    const pods = known.get(uid);
    if (pods) return knownPod(uid, pods, runtime);
    return isGone(uid, evidence, answer, runtime)
      ? { uid, state: 'gone', contentRemovable: true, runtimeRemovable: true, initContainers: null }
      : { uid, state: 'unknown', contentRemovable: false, runtimeRemovable: false, initContainers: null };
  });
}

/**
 * The kubelet's word that a pod has finished counts once the runtime agrees. The content of one that it evicted is removable
 * before that (A9).
 */
function knownPod(uid: string, pods: readonly KubeletPod[], { active }: RuntimePods): PodState {
  const isTerminated = pods.every(({ finished }) => finished) && !active.has(uid);
  const isDeleted = pods.every(({ deletionTimestamp }) => deletionTimestamp);
  const isEvicted = pods.every(({ evicted }) => evicted);
  return {
    uid,
    state: 'known',
    runtimeRemovable: isTerminated,
    contentRemovable: isEvicted || (isTerminated && isDeleted),
    initContainers: [...new Set(pods.flatMap(({ initContainers }) => initContainers))],
  };
}

function isGone(
  uid: string,
  { missingSinceMs }: PodEvidence,
  answer: PodAnswer | null,
  { active }: RuntimePods,
): boolean {
  const sinceMs = missingSinceMs.get(uid);
  if (sinceMs === undefined || answer === null || active.has(uid)) return false;
  return answer.askedAtMs - sinceMs >= GONE_AFTER_MS;
}
