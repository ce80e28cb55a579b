import {
  CLUSTER_COMMAND_VERSION,
  type ClusterCommand,
  type ClusterCommandItem,
} from '../../schemas/events/cluster-command.ts';
import type { ClusterDecision, ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import type { ClusterInstant } from '../../schemas/events/cluster-objects.ts';
import type { ClusterIdentity } from '../../schemas/events/identity.ts';
import type { ClusterPolicyRecord } from '../../schemas/policy/cluster-policy.ts';
import { deriveId } from '../canonical/ids.ts';
import { decisionId, inputReference, policyReference, recordedOutputs } from './common-record.ts';
import { clusterOutput, type DecidedOutputs, type Input } from './handler.ts';

/** What every fact about a cluster has that is decided on. */
export interface DecidableFact extends ClusterIdentity {
  readonly id: string;
  readonly takenAt: ClusterInstant;
  readonly candidates: readonly JudgedCandidate[];
}

/** An object that gets a verdict; only facts about owners tell of these. */
export interface JudgedCandidate {
  readonly object: unknown;
  readonly references?: readonly unknown[];
  readonly cascades?: readonly unknown[];
}

/** One decision about a cluster: who decides, on what, under which policies. */
export interface ClusterDeciding<Fact extends DecidableFact = DecidableFact> {
  readonly decider: ClusterDecision['decider'];
  readonly input: Input<Fact>;
  readonly policies: { readonly hash: string };
  /** The policy in force; `null` when none is. */
  readonly record: ClusterPolicyRecord | null;
}

/** What a decider concludes from one fact: all of the decision record that is not identity. */
export interface ClusterConclusion {
  readonly outcome: ClusterDecision['outcome'];
  readonly reason: string;
  readonly verdicts: readonly ClusterVerdict[];
}

/** The record of a decision about a cluster, and the command that follows from it, if one does. */
export function clusterDecisionOutputs(
  deciding: ClusterDeciding,
  conclusion: ClusterConclusion,
  command: ClusterCommand | null,
): DecidedOutputs {
  const record = clusterDecision(deciding, conclusion, command === null ? [] : [command.id]);
  const followUp = command && clusterOutput('clusterCommands', command);
  return recordedOutputs(record, followUp, (hashed) => clusterOutput('clusterDecisions', hashed));
}

function clusterDecision(
  deciding: ClusterDeciding,
  { outcome, reason, verdicts }: ClusterConclusion,
  outputIds: readonly string[],
): Omit<ClusterDecision, 'outputSha256'> {
  const { decider, input, policies, record } = deciding;
  return {
    type: 'fleetgc.cluster.decision',
    version: 1,
    id: decisionId(deciding),
    ...identityOf(input.event),
    takenAt: input.event.takenAt,
    decider,
    input: inputReference(input),
    policy: record && policyReference(record, policies),
    policySetHash: policies.hash,
    outcome,
    reason,
    verdicts: [...verdicts],
    outputIds: [...outputIds],
  };
}

/** The command that such a decision gives; `record` is the policy in force, and there is at least one item. */
export function clusterCommand(
  deciding: ClusterDeciding,
  record: ClusterPolicyRecord,
  items: readonly ClusterCommandItem[],
): ClusterCommand {
  const { event } = deciding.input;
  const decision = decisionId(deciding);
  return {
    type: 'fleetgc.cluster.command',
    version: CLUSTER_COMMAND_VERSION,
    id: deriveId('command', decision),
    ...identityOf(event),
    decisionId: decision,
    factId: event.id,
    takenAt: event.takenAt,
    lifetimeMs: record.policy.commandLifetimeMs,
    policy: policyReference(record, deciding.policies),
    items: [...items],
  };
}

const identityOf = ({ cluster, clusterInstance }: ClusterIdentity): ClusterIdentity => ({
  cluster,
  clusterInstance,
});
