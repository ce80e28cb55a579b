import type { ClusterVerdict } from '../../../../schemas/events/cluster-decision.ts';
import type { PodRemovalCause } from '../../../../schemas/events/pod-removal.ts';
import type { PodCandidate } from '../../../../schemas/events/pods.ts';
import { approvalFacts, heldBy, type Reason } from '../../../decision/approvals.ts';
import { keptBecause } from '../../../decision/kept-objects.ts';
import { isDeleting, isStuck, isTerminated } from './pod-state.ts';
import type { PodSettings } from './settings.ts';

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

/** A node has to be missing for so long: its events may be behind, and it may come back (cluster J6). */
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
export function keptByList(
  { object }: PodCandidate,
  { profile, keep: list }: PodSettings,
): PodOutcome | null {
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
