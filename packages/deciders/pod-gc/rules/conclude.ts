import type { PodRemovalCause } from '../../../../schemas/events/cluster-command.ts';
import type { ClusterVerdict } from '../../../../schemas/events/cluster-decision.ts';
import type { PodCandidate } from '../../../../schemas/events/pods.ts';
import { compareText } from '../../../../schemas/events/text-order.ts';
import type { ApprovalRecord } from '../../../../schemas/policy/approval.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';
import { Approvals, approvalFacts, heldBy, type Reason } from '../../../decision/approvals.ts';
import { type KeepList, keepListOf, keptBecause } from '../../../decision/kept-objects.ts';

export type PodRule = 'J1' | 'J3' | 'J5' | 'J6' | 'J8' | 'J9' | 'J11' | 'S1' | 'S2' | 'S3' | 'S5';
type Facts = ClusterVerdict['facts'];

/** What was concluded of one pod. `hold`: it would go, and somebody has to approve it first. */
export type PodOutcome =
  | {
      readonly kind: 'remove';
      readonly rule: PodRule;
      readonly facts: Facts;
      readonly because: PodRemovalCause;
    }
  | { readonly kind: 'keep' | 'hold'; readonly rule: PodRule; readonly facts: Facts };

/** What a decision knows beside the pod and the policy. */
export interface PodCircumstances {
  /** More pods have ended than may stay, and this one is among those that go first (cluster J3). */
  readonly isExcess: boolean;
  /** Pods whose nodes are missing, all of them. */
  readonly onMissingNodes: number;
  /** The cluster was restored to an older state a short time ago. */
  readonly wentBack: boolean;
}

/**
 * A node has to be missing for so long: its events may be behind, and it may come back (cluster J6).
 * @limit Time that a node is missing before its pods are removed, as upstream (J6).
 */
export const QUARANTINE_MS = 40_000;

interface Cause {
  readonly because: PodRemovalCause;
  readonly rule: PodRule;
  readonly applies: (pod: PodCandidate, circumstances: PodCircumstances) => boolean;
}

/** In the order in which they are asked; a pod goes once, for the first that applies (cluster J1, J10). */
const CAUSES: readonly Cause[] = [
  {
    because: 'terminated',
    rule: 'J3',
    applies: (pod, { isExcess }) => isExcess && isTerminated(pod),
  },
  {
    because: 'out-of-service',
    rule: 'J5',
    applies: (pod) =>
      isDeleting(pod) && pod.node.state === 'there' && !pod.node.isReady && pod.node.isOutOfService,
  },
  {
    because: 'node-gone',
    rule: 'J8',
    applies: ({ node }) => node.state === 'missing' && node.missingForMs >= QUARANTINE_MS,
  },
  {
    because: 'unscheduled',
    rule: 'J9',
    applies: (pod) => isDeleting(pod) && pod.node.state === 'none',
  },
];

const ALL_CAUSES = CAUSES.map(({ because }) => because);

/**
 * What becomes of one pod, by rule. It believes nothing that the candidate does not say: agents publish more than has to go, and what
 * nothing calls for stays. `among`: the causes that may count.
 */
export function conclude(
  pod: PodCandidate,
  settings: PodSettings,
  circumstances: PodCircumstances,
  among: readonly PodRemovalCause[] = ALL_CAUSES,
): PodOutcome {
  const kept = keptByList(pod, settings);
  if (kept !== null) return kept;
  if (isStuck(pod)) return keep('J11', { finalizers: pod.object.finalizers.length });
  const cause = CAUSES.find(({ because, applies }) => among.includes(because) && applies(pod, circumstances));
  if (cause === undefined) return uncalledFor(pod);
  const { because, rule } = cause;
  const reasons = reasonsToHold(pod, because, settings, circumstances);
  const facts = { ...factsOf(pod), ...approvalFacts(reasons) };
  return heldBy(reasons) ?? { kind: 'remove', rule, facts, because };
}

const keep = (rule: PodRule, facts: Facts): PodOutcome => ({ kind: 'keep', rule, facts });
const hold = (rule: PodRule, facts: Facts): PodOutcome => ({ kind: 'hold', rule, facts });

/** In profile `fleetgc` a pod stays that somebody keeps (cluster S5). */
function keptByList({ object }: PodCandidate, { profile, keep: list }: PodSettings): PodOutcome | null {
  const because = profile === 'kubernetes' ? null : keptBecause(object, list);
  return because && keep('S5', because);
}

function uncalledFor(pod: PodCandidate): PodOutcome {
  const { node } = pod;
  if (node.state === 'missing') return keep('J6', { nodeName: node.name, missingForMs: node.missingForMs });
  return keep(isTerminated(pod) ? 'J3' : 'J1', factsOf(pod));
}

const factsOf = ({ phase, node }: PodCandidate): Facts => ({
  phase,
  ...(node.state !== 'none' && { nodeName: node.name }),
  ...(node.state === 'missing' && { missingForMs: node.missingForMs }),
});

/** Why a pod that is to go is held, in profile `fleetgc`. */
function reasonsToHold(
  pod: PodCandidate,
  because: PodRemovalCause,
  settings: PodSettings,
  circumstances: PodCircumstances,
): readonly Reason<PodOutcome>[] {
  const { profile, holdsPods, approved } = settings;
  const { object } = pod;
  if (profile === 'kubernetes') return [];
  const ofHeldKind = holdsPods
    ? [{ outcome: hold('S2', { kind: 'Pod' }), approval: approved.ofObject(object) }]
    : [];
  return because === 'node-gone'
    ? [...ofHeldKind, ...ofMissingNodes(pod, settings, circumstances)]
    : ofHeldKind;
}

function ofMissingNodes(
  { node }: PodCandidate,
  { mostOnMissingNodes, approved }: PodSettings,
  { wentBack, onMissingNodes }: PodCircumstances,
): readonly Reason<PodOutcome>[] {
  // It ends by itself, and nobody can know yet what is approved.
  if (wentBack)
    return [{ outcome: hold('S3', { why: 'the cluster was restored to an older state' }), approval: null }];
  if (onMissingNodes <= mostOnMissingNodes) return [];
  const nodeName = node.state === 'none' ? '' : node.name;
  const facts = { ownerKind: 'Node', nodeName, ofKind: onMissingNodes, limit: mostOnMissingNodes };
  return [{ outcome: hold('S1', facts), approval: approved.ofPodsOfMissingNodes(onMissingNodes, nodeName) }];
}

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

const STILL_AT_WORK: readonly string[] = ['Pending', 'Running', 'Unknown'];

/** A pod without a phase counts too (cluster J3). */
export const isTerminated = ({ phase }: Pick<PodCandidate, 'phase'>): boolean =>
  !STILL_AT_WORK.includes(phase);

/** Its containers have ended, by its own word (cluster J2). */
export const isFinal = ({ phase }: Pick<PodCandidate, 'phase'>): boolean =>
  phase === 'Succeeded' || phase === 'Failed';

const isDeleting = ({ object }: Pick<PodCandidate, 'object'>): boolean => object.deletionTimestamp !== null;

/** One more deletion would change nothing: finalizers alone hold it (cluster J11). */
const isStuck = (pod: Pick<PodCandidate, 'object' | 'phase' | 'graceSeconds'>): boolean =>
  isDeleting(pod) && pod.graceSeconds === 0 && pod.object.finalizers.length > 0 && isFinal(pod);

/** Evicted ones first, then the oldest, then by name: the order in which pods that ended go (cluster J3). */
function compareTerminated(one: PodCandidate, other: PodCandidate): number {
  if (one.isEvicted !== other.isEvicted) return one.isEvicted ? -1 : 1;
  if (one.createdAtMs !== other.createdAtMs) return one.createdAtMs - other.createdAtMs;
  return compareText(nameOf(one), nameOf(other));
}

const nameOf = ({ object }: PodCandidate): string => `${object.name} ${object.namespace} ${object.uid}`;

/** What of a policy the rules about pods read. */
export interface PodSettings {
  /** `kubernetes`: as upstream, less its faults. `fleetgc`: the rules of section S too. */
  readonly profile: ClusterPolicy['profile'];
  /** Pods that have ended and may stay; 0 lets all of them stay (cluster J3). */
  readonly terminatedPodGcThreshold: number;
  /** Pods that may go because their nodes are missing (cluster S1). */
  readonly mostOnMissingNodes: number;
  /** Whether pods are held one and all (cluster S2). */
  readonly holdsPods: boolean;
  readonly keep: KeepList;
  readonly approved: Approvals;
}

/** `approvals`: those in force for the cluster. */
export const podSettingsOf = (
  { profile, terminatedPodGCThreshold, limits, heldKinds, keep }: ClusterPolicy,
  approvals: readonly ApprovalRecord[],
): PodSettings => ({
  profile,
  terminatedPodGcThreshold: terminatedPodGCThreshold ?? 0,
  mostOnMissingNodes: limits.cascadeOfKind,
  holdsPods: heldKinds.includes('Pod'),
  keep: keepListOf(keep),
  approved: new Approvals(approvals),
});
