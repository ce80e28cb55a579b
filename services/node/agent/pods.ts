import type { Logger } from 'pino';
import type { z } from 'zod';
import type { KubeletPod, PodListing, PodSource } from '../../../packages/cri/kubelet/pod-source.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { InventoryPod } from '../../../schemas/events/inventory.ts';

/** What the kubelet said, as far as it can be believed. */
interface KnownPods {
  readonly pods: readonly PodState[];
  readonly allSourcesReady: boolean;
  /**
   * Of this answer and of the last good one: what pods want stays in use while the kubelet is silent or starting. `null`
   * until the configured kubelet told once: after a restart nobody knows what is wanted.
   */
  readonly wanted: readonly KubeletPod[] | null;
}

/** Asks the kubelet, after the runtime was listed, and remembers what that proves. */
export interface PodWatch {
  /** Never rejects: without an answer all pods are unknown. */
  ask(runtime: RuntimePods): Promise<KnownPods>;
  /** Why the last answer could not be had; `null` when it was, or there is no source. */
  problem(): string | null;
}

interface PodWatchParts {
  /** `null`: none configured. */
  readonly source: PodSource | null;
  readonly sources: readonly KubeletSource[];
  readonly clock: NodeClock;
  readonly logger: Logger;
}

/** So many answers in a row, each from another connection, are no restarts of a kubelet any more. */
const NEW_CONNECTIONS = 6;
const NO_LASTING_CONNECTION =
  'each answer of the kubelet comes over a new connection, so no pod counts as gone: a proxy before the kubelet closes idle connections, or the kubelet restarts again and again. Name the kubelet itself with --kubelet-url, or let the proxy keep idle connections for a minute';

/** Warns once while each good answer comes from another instance than the one before. */
function connectionWatch(logger: Logger): (instance: string) => void {
  let last: string | null = null;
  let changes = 0;
  return (instance) => {
    changes = instance === last ? 0 : changes + 1;
    last = instance;
    if (changes === NEW_CONNECTIONS) logger.warn({ answers: NEW_CONNECTIONS }, NO_LASTING_CONNECTION);
  };
}

export function watchPods({ source, sources, clock, logger }: PodWatchParts): PodWatch {
  const watchConnection = connectionWatch(logger);
  let evidence = NO_EVIDENCE;
  let lastGood: readonly KubeletPod[] | null = source === null ? [] : null;
  let problem: string | null = null;
  const report = (now: string | null): void => {
    if (now !== null && problem === null) logger.warn({ problem: now }, 'pods unreadable: all are unknown');
    if (now === null && problem !== null) logger.info('pods readable again');
    problem = now;
  };
  const askSource = async (): Promise<PodAnswer | null> => {
    if (source === null) return null;
    const askedAtMs = clock.now().sinceBootMs;
    try {
      const listing = await source.list();
      report(null);
      watchConnection(listing.kubeletInstance);
      return { listing, askedAtMs, answeredAtMs: clock.now().sinceBootMs };
    } catch (error) {
      report(toFleetGcError(error).message);
      return null;
    }
  };
  return {
    ask: async (runtime) => {
      const answer = await askSource();
      evidence = weigh(evidence, answer, runtime, sources);
      const allSourcesReady = answer !== null && haveDelivered(answer.listing, sources);
      const named = answer?.listing.pods ?? [];
      if (allSourcesReady) lastGood = named;
      return {
        pods: podStates(evidence, answer, runtime),
        allSourcesReady,
        wanted: lastGood && (allSourcesReady ? named : [...lastGood, ...named]),
      };
    },
    problem: () => problem,
  };
}

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

/**
 * Two good answers must lie so far apart before a UID that both lack is gone.
 * @limit Time between two kubelet responses without a pod before the pod counts as gone.
 */
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
