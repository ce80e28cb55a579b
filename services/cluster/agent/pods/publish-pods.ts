import { type PodSettings, podSettingsOf } from '../../../../packages/deciders/pod-gc/rules/settings.ts';
import { Approvals } from '../../../../packages/decision/approvals.ts';
import type { ClusterInstant } from '../../../../schemas/events/cluster-objects.ts';
import type { ClusterIdentity } from '../../../../schemas/events/identity.ts';
import type { Pods } from '../../../../schemas/events/pods.ts';
import type { AgentParts } from '../agent-parts.ts';
import { HoldsWatch } from '../candidates/what-holds.ts';
import { publishUntilDone, takenAt } from '../publish-until-done.ts';
import type { PodWatch } from './pod-watch.ts';
import { ToldPods } from './told-pods.ts';

export interface PodPublishing {
  readonly parts: Omit<AgentParts, 'earlierFacts'>;
  readonly identity: ClusterIdentity & { readonly session: string };
  readonly watch: PodWatch;
  /** Whether anything may be published (cluster I10). */
  readonly isReady: () => boolean;
  /** The cluster was restored to an older state a short time ago (cluster S3). */
  readonly wentBack: () => boolean;
}

/** As often as upstream looks (cluster J1, N10). */
const LOOK_EVERY_MS = 20_000;
/** How soon it is looked again while nothing can be concluded, or where something else may be decided. */
const WAIT_MS = 1_000;

/** Without a policy all that could be called for is told, but for those that ended: how many may stay is not known. */
const WITHOUT_POLICY: PodSettings = {
  profile: 'kubernetes',
  terminatedPodGcThreshold: 0,
  mostOnMissingNodes: 0,
  holdsPods: false,
  keep: { namespaces: new Set(), kinds: new Set() },
  approved: new Approvals([]),
};

/** Tells which pods may have to go, until the signal aborts. */
export async function publishPods(publishing: PodPublishing, signal: AbortSignal): Promise<void> {
  const { parts } = publishing;
  const told = new ToldPods();
  const holds = new HoldsWatch();
  let lookAtMs = parts.nowMs();
  for (let seq = 0; !signal.aborted; ) {
    const instant = takenAt(parts);
    if (isOtherwise(publishing, holds, instant)) {
      told.forget();
      lookAtMs = parts.nowMs();
    }
    if (parts.nowMs() >= lookAtMs) {
      const found = factOf(publishing, told, { instant, seq });
      lookAtMs = parts.nowMs() + pauseAfter(found);
      if (typeof found !== 'string') {
        seq++;
        await publishUntilDone(parts, found, signal);
      }
    }
    await parts.sleep(WAIT_MS, signal);
  }
}

/** Whether something else may be decided of what was told. An approval ends no later than its time, whatever the clock showed. */
const isOtherwise = (
  { parts, identity }: PodPublishing,
  holds: HoldsWatch,
  instant: ClusterInstant | null,
): boolean =>
  instant !== null &&
  holds.isChanged(parts.holds(identity, instant.serverMs + instant.spreadMs), parts.nowMs());

type Found = Pods | 'nothing-known' | 'no-news';

const pauseAfter = (found: Found): number => (found === 'nothing-known' ? WAIT_MS : LOOK_EVERY_MS);

interface Now {
  /** `null` while the API server's time is not known. */
  readonly instant: ClusterInstant | null;
  readonly seq: number;
}

function factOf(
  { parts, identity, watch, isReady, wentBack }: PodPublishing,
  told: ToldPods,
  { instant, seq }: Now,
): Found {
  if (instant === null || !isReady()) return 'nothing-known';
  const record = parts.policy();
  const isRestored = wentBack();
  const look = watch.look(record === null ? WITHOUT_POLICY : podSettingsOf(record.policy, []), isRestored);
  if (look === null) return 'nothing-known';
  const news = told.take(look.due, parts.nowMs(), isRestored);
  if (news.length === 0) return 'no-news';
  const { cluster, clusterInstance, session } = identity;
  return {
    type: 'fleetgc.cluster.pods',
    version: 1,
    id: parts.newId(),
    cluster,
    clusterInstance,
    session,
    seq,
    takenAt: instant,
    totals: look.totals,
    wentBack: isRestored,
    candidates: [...news],
  };
}
