import {
  CLUSTER_COMMAND_VERSION,
  type ClusterCommand,
  type ClusterCommandItem,
} from '../../schemas/events/cluster-command.ts';
import type { ClusterDecision, ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import { COMMAND_VERSION, type Command } from '../../schemas/events/command.ts';
import type { Decision, DecisionAbout } from '../../schemas/events/decision.ts';
import type {
  DecisionInput,
  MessageReference,
  PolicyReference,
} from '../../schemas/events/decision-parts.ts';
import type {
  ClusterIdentity,
  NodeIdentity,
  SubjectIdentity,
  SubjectKind,
} from '../../schemas/events/identity.ts';
import type { Inventory } from '../../schemas/events/inventory.ts';
import { OBSERVE_LIFETIME_MS, type Observe } from '../../schemas/events/observe.ts';
import type { Reclaim } from '../../schemas/events/reclaim.ts';
import type { PressureUnrelieved } from '../../schemas/events/result.ts';
import type { ClusterPolicyRecord } from '../../schemas/policy/cluster-policy.ts';
import type { PolicyRecord, PolicyRecordOf } from '../../schemas/policy/policy.ts';
import { canonicalJson, deriveId, sha256Hex } from '../canonical/ids.ts';
import type { Conclusion } from './conclusion.ts';
import { clusterOutput, type DecidedOutputs, type Input, nodeOutput, type Output } from './handler.ts';

/** What every event about a subject has that is decided on. */
export type DecidableEvent<Kind extends SubjectKind> = SubjectIdentity<Kind> &
  Pick<DecisionAbout<Kind>, 'takenAt'> & { readonly id: string };

/** One decision: who decides, on what, under which policies. */
export interface Deciding<
  Kind extends SubjectKind,
  Event extends DecidableEvent<Kind> = DecidableEvent<Kind>,
> {
  readonly decider: DecisionAbout<Kind>['decider'];
  readonly input: Input<Event>;
  readonly policies: { readonly hash: string };
  /** The policy in force; `null` when none is. */
  readonly record: PolicyRecordOf<Kind> | null;
  /** The newer message for which this one is passed over; nothing is decided then. */
  readonly overtakenBy?: MessageReference;
}

/** Of whatever carries it, no more than it. */
export const identityOf = ({ cluster, node, nodeInstance }: NodeIdentity): NodeIdentity => ({
  cluster,
  node,
  nodeInstance,
});

/** What follows from a decision beside its record: a command, an order, or the fact that a reclaim ended above its target. */
export type FollowUp = Output<'commands'> | Output<'observe'> | Output<'decisions'>;

/** The record of a decision, with the hash of all that it gives; what follows is sent after the record was acknowledged. */
export function decisionOutputs(
  deciding: Deciding<'node'>,
  conclusion: Conclusion,
  followUp: FollowUp | null,
): DecidedOutputs {
  // Only orders and commands are named: a fact about the reclaim is nobody's to carry out.
  const outputIds = followUp === null || followUp.topic === 'decisions' ? [] : [followUp.event.id];
  const record = decisionRecord(deciding, conclusion, outputIds);
  return recordedOutputs(record, followUp, (hashed) => nodeOutput('decisions', hashed));
}

function decisionRecord(
  deciding: Deciding<'node'>,
  conclusion: Conclusion,
  outputIds: readonly string[],
): Omit<Decision, 'outputSha256'> {
  const { input, overtakenBy } = deciding;
  return {
    type: 'fleetgc.node.decision',
    ...identityOf(input.event),
    ...decisionHeader(deciding),
    outcome: conclusion.outcome,
    reason: conclusion.reason,
    notBelieved: [...conclusion.notBelieved],
    notes: [...(conclusion.notes ?? [])],
    reclaim: conclusion.reclaim,
    estimatedBytes: conclusion.estimatedBytes,
    verdicts: [...conclusion.verdicts],
    outputIds: [...outputIds],
    ...(overtakenBy && { overtakenBy }),
  };
}

/** What the records of all decisions begin with, beside the type and whom they are about. */
const decisionHeader = <Kind extends SubjectKind>(deciding: Deciding<Kind>) => {
  const { decider, input, policies, record } = deciding;
  return {
    version: 1 as const,
    id: decisionId(deciding),
    takenAt: input.event.takenAt,
    decider,
    input: inputReference(input),
    policy: record && policyReference(record, policies),
    policySetHash: policies.hash,
  };
};

/** What all commands begin with, beside the type and whom they are for; `record` is the policy in force. */
const commandBase = <Kind extends SubjectKind>(
  deciding: Deciding<Kind>,
  record: PolicyRecordOf<SubjectKind>,
) => {
  const decision = decisionId(deciding);
  return {
    id: deriveId('command', decision),
    decisionId: decision,
    takenAt: deciding.input.event.takenAt,
    lifetimeMs: record.policy.commandLifetimeMs,
    policy: policyReference(record, deciding.policies),
  };
};

/** What commands of nodes begin with, whatever they remove. */
export const commandHeader = (deciding: Deciding<'node', Inventory>, record: PolicyRecord) => {
  const { event } = deciding.input;
  return {
    type: 'fleetgc.node.command',
    version: COMMAND_VERSION,
    ...identityOf(event),
    ...commandBase(deciding, record),
    inventoryId: event.id,
    reclaim: event.reclaim,
  } as const satisfies Partial<Command>;
};

/** The order that begins a reclaim or moves it on. */
export const observeOrder = (deciding: Deciding<'node'>, reclaim: Reclaim): Observe => ({
  type: 'fleetgc.node.observe',
  version: 1,
  id: deriveId('observe', decisionId(deciding)),
  ...identityOf(deciding.input.event),
  takenAt: deciding.input.event.takenAt,
  lifetimeMs: OBSERVE_LIFETIME_MS,
  reclaim,
});

/** Of the fact that a reclaim ended above its target with a decision. */
export const endingId = (decision: string): string => deriveId('unrelieved', decision);

/** The fact that a reclaim ended above its target, with what is available and what holds the rest (M8). */
export const pressureUnrelieved = (
  deciding: Deciding<'node'>,
  ending: Pick<PressureUnrelieved, 'reclaim' | 'availableNow' | 'holders'>,
): PressureUnrelieved => ({
  type: 'fleetgc.node.pressure-unrelieved',
  version: 1,
  id: endingId(decisionId(deciding)),
  ...identityOf(deciding.input.event),
  takenAt: deciding.input.event.takenAt,
  ...ending,
});

/** What every fact about a cluster has that is decided on. */
export type DecidableFact = DecidableEvent<'cluster'> & { readonly candidates: readonly JudgedCandidate[] };

/** An object that gets a verdict; only facts about owners tell of these. */
interface JudgedCandidate {
  readonly object: unknown;
  readonly references?: readonly unknown[];
  readonly cascades?: readonly unknown[];
}

/** What a decider concludes from one fact: all of the decision record that is not identity. */
export interface ClusterConclusion {
  readonly outcome: ClusterDecision['outcome'];
  readonly reason: string;
  readonly verdicts: readonly ClusterVerdict[];
}

/** The record of a decision about a cluster, and the command that follows from it, if one does. */
export function clusterDecisionOutputs(
  deciding: Deciding<'cluster'>,
  conclusion: ClusterConclusion,
  command: ClusterCommand | null,
): DecidedOutputs {
  const record = clusterDecision(deciding, conclusion, command === null ? [] : [command.id]);
  const followUp = command && clusterOutput('clusterCommands', command);
  return recordedOutputs(record, followUp, (hashed) => clusterOutput('clusterDecisions', hashed));
}

function clusterDecision(
  deciding: Deciding<'cluster'>,
  { outcome, reason, verdicts }: ClusterConclusion,
  outputIds: readonly string[],
): Omit<ClusterDecision, 'outputSha256'> {
  return {
    type: 'fleetgc.cluster.decision',
    ...clusterIdentityOf(deciding.input.event),
    ...decisionHeader(deciding),
    outcome,
    reason,
    verdicts: [...verdicts],
    outputIds: [...outputIds],
  };
}

/** The command that such a decision gives; `record` is the policy in force, and there is at least one item. */
export const clusterCommand = (
  deciding: Deciding<'cluster'>,
  record: ClusterPolicyRecord,
  items: readonly ClusterCommandItem[],
): ClusterCommand => ({
  type: 'fleetgc.cluster.command',
  version: CLUSTER_COMMAND_VERSION,
  ...clusterIdentityOf(deciding.input.event),
  ...commandBase(deciding, record),
  factId: deciding.input.event.id,
  items: [...items],
});

const clusterIdentityOf = ({ cluster, clusterInstance }: ClusterIdentity): ClusterIdentity => ({
  cluster,
  clusterInstance,
});

/** What the id of a decision follows from. */
interface DecisionName {
  readonly decider: { readonly name: string; readonly version: string };
  readonly input: {
    readonly event: { readonly id: string };
    readonly position: { readonly sha256: string };
  };
  readonly policies: { readonly hash: string };
  readonly overtakenBy?: MessageReference | undefined;
}

/**
 * Depends on the bytes decided on, the set of policies and the decider, so a redelivery gives the same id; and on the newer
 * message where there is one, since another delivery may find another, or none.
 */
export const decisionId = ({ decider, input, policies, overtakenBy }: DecisionName): string =>
  deriveId(
    'decision',
    decider.name,
    decider.version,
    input.event.id,
    input.position.sha256,
    policies.hash,
    ...(overtakenBy === undefined ? [] : namesOf(overtakenBy)),
  );

const namesOf = ({ topic, partition, offset, id }: MessageReference): readonly string[] => [
  topic,
  String(partition),
  offset,
  id,
];

/** How records and commands name the policy in force, and its set. */
const policyReference = (
  { policy, policyVersion, hash }: PolicyRecordOf<SubjectKind>,
  set: { readonly hash: string },
): PolicyReference => ({
  name: policy.name,
  version: policyVersion,
  hash,
  setHash: set.hash,
});

/** How a record names the message that was decided on. */
const inputReference = ({ event, position }: Input<{ readonly id: string }>): DecisionInput => {
  const { topic, partition, offset, sha256 } = position;
  return { topic, partition, offset, id: event.id, sha256 };
};

/** A record with its hash, keyed as its topic wants. */
type Recorded<Record> = (hashed: Record & { readonly outputSha256: string }) => Output;

/** The record of a decision, with the hash of all that it gives; what follows is sent after the record was acknowledged. */
function recordedOutputs<Record extends object>(
  record: Record,
  followUp: Output | null,
  recorded: Recorded<Record>,
): DecidedOutputs {
  const following = followUp === null ? [] : [{ ...followUp, text: canonicalJson(followUp.event) }];
  const { outputSha256, text } = writtenRecord(
    record,
    following.map((output) => output.text),
  );
  const first = [{ ...recorded({ ...record, outputSha256 }), text }];
  return followUp === null ? [first] : [first, following];
}

/** A record as it lies on the log, and the hash that stands in it. */
interface WrittenRecord {
  readonly text: string;
  readonly outputSha256: string;
}

/**
 * The hash is SHA-256 of the canonical JSON of a list: the record, which holds no hash yet, and what follows from it, in order.
 * Each is written once, for the hash and for the log: what stands before the hash, and what stands behind it.
 */
export function writtenRecord(record: object, following: readonly string[]): WrittenRecord {
  const members = Object.entries(record);
  const before = canonicalJson(Object.fromEntries(members.filter(([name]) => name < HASH))).slice(0, -1);
  const behind = canonicalJson(Object.fromEntries(members.filter(([name]) => name > HASH))).slice(1);
  const outputSha256 = sha256Hex(`[${[`${before},${behind}`, ...following].join(',')}]`);
  return { text: `${before},"${HASH}":"${outputSha256}",${behind}`, outputSha256 };
}

/** Names come before it and behind it, of every record. */
const HASH = 'outputSha256';
