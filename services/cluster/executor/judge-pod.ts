import { z } from 'zod';
import {
  conclude,
  excessCount,
  isFinal,
  type PodCircumstances,
  type PodOutcome,
  podSettingsOf,
  QUARANTINE_MS,
} from '../../../packages/deciders/pod-gc/rules/conclude.ts';
import { type ObjectMetadata, readMetadata, wholeForm } from '../../../packages/kube-api/metadata.ts';
import { type PodFacts, readPod } from '../../../packages/kube-api/pods.ts';
import type { PodRemovalCause, RemovePodAction } from '../../../schemas/events/cluster-command.ts';
import type { PodCandidate, PodNode } from '../../../schemas/events/pods.ts';
import { type Asked, clockUnbelieved, type Judgement, liveObject, type PodMark } from './judge.ts';
import { isStop, later, refused, type Stop } from './order.ts';
import type { PodIndex } from './ports.ts';
import { PODS_OF_MISSING_NODES } from './rates.ts';

interface LivePod extends ObjectMetadata {
  /** `null` where it cannot be read. */
  readonly pod: PodFacts | null;
  /** `null` where the API server counts none. */
  readonly generation: number | null;
}

const POD_FORM = wholeForm<LivePod>((value) => {
  const metadata = readMetadata(value);
  const generation = Generation.safeParse(value).data?.metadata.generation ?? null;
  return metadata && { ...metadata, pod: readPod(value), generation };
});
const Generation = z.object({ metadata: z.object({ generation: z.int().positive().optional() }) });

/** Judges whether a pod has to go, by the pod and its node as the API server has them (cluster J). */
export async function judgePod(asked: Asked, act: RemovePodAction): Promise<Judgement | Stop> {
  const { kind, record, approvals, order, clock, nowMs } = asked;
  const pods = podsKnown(asked);
  if (pods === 'not-ready') return later('api-server-error', 'pods and nodes are not read yet');
  const object = await livePod(asked);
  if (isStop(object)) return object;
  const candidate = await candidateOf(asked, object, { because: act.because, pods });
  if ('kind' in candidate) return candidate;
  const time = clock.at(nowMs());
  if (time === null) return clockUnbelieved();
  const outcome = conclude(
    candidate,
    podSettingsOf(record.policy, approvals),
    circumstancesOf(asked, { because: act.because, pods }),
    [act.because],
  );
  const isUnchanged = object.resourceVersion === order.item.object.resourceVersion;
  if (outcome.kind !== 'remove' || outcome.rule !== order.item.rule) return refusedBy(outcome, isUnchanged);
  const mark = isFinal(candidate) ? null : markOf(act.because, object.generation, time.earliestMs);
  return {
    kind,
    object,
    action: { ...act, mark },
    approvals,
    record,
    countsFor: act.because === 'node-gone' ? [PODS_OF_MISSING_NODES] : [],
    within: null,
  };
}

/** `null` where the process follows no pods. */
function podsKnown({ index }: Asked): PodIndex | 'not-ready' | null {
  if (index === null) return null;
  const pods = index.current()?.pods;
  return pods === undefined || pods.totals() === null ? 'not-ready' : pods;
}

async function livePod(asked: Asked): Promise<LivePod | Stop> {
  const { group, kind, resource } = asked.kind;
  return group === '' && resource === 'pods'
    ? liveObject(asked, POD_FORM)
    : refused('kept-by-own-judgement', `a ${kind} is no pod, and only pods go like this`);
}

interface Ordered {
  readonly because: PodRemovalCause;
  readonly pods: PodIndex | null;
}

async function candidateOf(
  asked: Asked,
  { pod, keep, generation: __, ownerReferences: _, ...object }: LivePod,
  ordered: Ordered,
): Promise<PodCandidate | Stop> {
  const { kind, reads } = asked;
  if (pod === null)
    return refused('kept-by-own-judgement', 'what it says of its phase and node cannot be read');
  const isInKept = await reads.keepsNamespace(object.namespace);
  if (typeof isInKept !== 'boolean') return isInKept;
  const node = await nodeOf(pod.nodeName, asked, ordered);
  if ('kind' in node) return node;
  const keptBy = isInKept ? 'namespace' : null;
  return {
    object: { ...kind, ...object, finalizers: [...object.finalizers], keptBy: keep ? 'object' : keptBy },
    phase: pod.phase,
    isEvicted: pod.isEvicted,
    createdAtMs: pod.createdAtMs,
    graceSeconds: pod.graceSeconds,
    node,
  };
}

/** Causes that follow from the node of a pod. */
const ASKS_FOR_NODE: readonly PodRemovalCause[] = ['node-gone', 'out-of-service'];

/** Asked for where something follows from it; a node of which nothing was asked holds its pods. */
async function nodeOf(name: string, asked: Asked, { because, pods }: Ordered): Promise<PodNode | Stop> {
  if (name === '') return { state: 'none' };
  if (!ASKS_FOR_NODE.includes(because)) return { state: 'there', name, isReady: true, isOutOfService: false };
  const found = await asked.reads.node(name);
  if ('kind' in found) return found;
  asked.order.node = { name, found: found.is };
  // Without an agent beside it nobody here knows for how long: it is not there now, and whoever decided waited.
  const missingForMs = pods === null ? QUARANTINE_MS : Math.floor(pods.missingForMs(name));
  return found.is === 'absent'
    ? { state: 'missing', name, missingForMs }
    : { state: 'there', name, isReady: found.isReady, isOutOfService: found.is === 'out-of-service' };
}

/** How many have ended only an agent knows; without one it relies on the decision, and on the limits (cluster J3). */
function circumstancesOf(
  { record, approvals, removals, order, index, nowMs }: Asked,
  { because, pods }: Ordered,
): PodCircumstances {
  const settings = podSettingsOf(record.policy, approvals);
  const totals = pods?.totals() ?? null;
  const goneWithNodes =
    because === 'node-gone' ? removals.beside(PODS_OF_MISSING_NODES, order.uid, nowMs()) + 1 : 0;
  return {
    isExcess:
      totals === null ? settings.terminatedPodGcThreshold > 0 : excessCount(totals.terminated, settings) > 0,
    onMissingNodes: Math.max(totals?.onMissingNodes ?? 0, goneWithNodes),
    wentBack: index?.current()?.wentBack ?? false,
  };
}

const DISRUPTION = { reason: 'DeletionByPodGC', message: 'PodGC: node no longer exists' } as const;

/** What a pod is told before it goes that has not ended by itself (cluster J2, J8). */
const markOf = (because: PodRemovalCause, observedGeneration: number | null, atMs: number): PodMark => ({
  disruption: because === 'node-gone' ? { ...DISRUPTION, atMs } : null,
  observedGeneration,
});

function refusedBy(outcome: PodOutcome, isUnchanged: boolean): Stop {
  const told = Object.entries(outcome.facts).map(([name, value]) => `${name}: ${String(value)}`);
  const message = `${outcome.kind} by ${outcome.rule}${told.length === 0 ? '' : ` (${told.join(', ')})`}`;
  if (outcome.kind === 'hold') return refused('not-approved', message);
  if (outcome.rule === 'S5') return refused('kept-by-policy', message);
  return refused(isUnchanged ? 'kept-by-own-judgement' : 'changed', message);
}
