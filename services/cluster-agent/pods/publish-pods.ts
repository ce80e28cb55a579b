import type { Pods } from '../../../schemas/events/pods.ts';
import type { ClusterPolicyRecord } from '../../../schemas/policy/cluster-policy.ts';
import { type PodSettings, podSettingsOf } from '../../pod-gc/rules/settings.ts';
import type { FactPublishing, PublishingParts } from '../publishing/fact-publishing.ts';
import type { PodWatch } from './pod-watch.ts';
import { ToldPods } from './told-pods.ts';

export interface PublishingPods extends Pick<PublishingParts, 'nowMs' | 'sleep'> {
  readonly facts: FactPublishing;
  readonly watch: PodWatch;
  /** Whether anything may be published yet (cluster I10). */
  readonly isReady: () => boolean;
  readonly wentBack: () => boolean;
  /** The policy in force, which is followed only to publish less; `null` where none is, or nobody can tell. */
  readonly policy: () => ClusterPolicyRecord | null;
}

/** As often as upstream looks (cluster J1, N10). */
const LOOK_EVERY_MS = 20_000;
/** While nothing can be concluded. */
const WAIT_MS = 1_000;

/** Without a policy all that could be called for is told, but for those that ended: how many may stay is not known. */
const WITHOUT_POLICY: PodSettings = {
  profile: 'kubernetes',
  terminatedPodGcThreshold: 0,
  mostOnMissingNodes: 0,
  holdsPods: false,
  keep: { namespaces: new Set(), kinds: new Set() },
};

/** Tells which pods may have to go, until the signal aborts. */
export async function publishPods(publishing: PublishingPods, signal: AbortSignal): Promise<void> {
  const told = new ToldPods();
  while (!signal.aborted) {
    const hasLooked = await publishOnce(publishing, told, signal);
    await publishing.sleep(hasLooked ? LOOK_EVERY_MS : WAIT_MS, signal);
  }
}

/** Whether anything could be concluded. */
async function publishOnce(
  { facts, watch, isReady, wentBack, policy, nowMs }: PublishingPods,
  before: ToldPods,
  signal: AbortSignal,
): Promise<boolean> {
  const takenAt = facts.takenAt();
  if (takenAt === null || !isReady()) return false;
  const record = policy();
  const isRestored = wentBack();
  const look = watch.look(record === null ? WITHOUT_POLICY : podSettingsOf(record.policy), isRestored);
  if (look === null) return false;
  const news = before.take(look.due, nowMs(), `${record?.hash ?? ''} ${isRestored}`);
  if (news.length === 0) return true;
  const told: Pods = {
    type: 'fleetgc.cluster.pods',
    ...facts.header(takenAt),
    totals: look.totals,
    wentBack: isRestored,
    candidates: [...news],
  };
  await facts.untilDone(told, signal);
  return true;
}
