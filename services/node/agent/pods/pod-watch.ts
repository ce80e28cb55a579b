import type { Logger } from 'pino';
import type { KubeletPod, PodSource } from '../../../../packages/cri/kubelet/pod-source.ts';
import type { NodeClock } from '../../../../packages/machine/clock.ts';
import { toFleetGcError } from '../../../../packages/process/errors.ts';
import {
  haveDelivered,
  type KubeletSource,
  NO_EVIDENCE,
  type PodAnswer,
  type PodState,
  podStates,
  type RuntimePods,
  weigh,
} from './pod-states.ts';

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
