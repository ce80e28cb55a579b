import { COMMAND_VERSION, type Command } from '../../schemas/events/command.ts';
import type { Decision } from '../../schemas/events/decision.ts';
import type { MessageReference } from '../../schemas/events/decision-parts.ts';
import type { NodeIdentity } from '../../schemas/events/identity.ts';
import type { Inventory } from '../../schemas/events/inventory.ts';
import { OBSERVE_LIFETIME_MS, type Observe } from '../../schemas/events/observe.ts';
import type { Reclaim } from '../../schemas/events/reclaim.ts';
import type { PressureUnrelieved } from '../../schemas/events/result.ts';
import type { Instant } from '../../schemas/events/time.ts';
import type { PolicyRecord, PolicySet } from '../../schemas/policy/policy.ts';
import { deriveId } from '../canonical/ids.ts';
import { decisionId, inputReference, policyReference, recordedOutputs } from './common-record.ts';
import type { Conclusion } from './conclusion.ts';
import { type DecidedOutputs, type Input, nodeOutput, type Output } from './handler.ts';

/** What every event that is decided on has. */
export interface DecidableEvent extends NodeIdentity {
  readonly id: string;
  readonly takenAt: Instant;
}

/** One decision: who decides, on what, under which policies. */
export interface Deciding<Event extends DecidableEvent = DecidableEvent> {
  readonly decider: Decision['decider'];
  readonly input: Input<Event>;
  readonly policies: Pick<PolicySet, 'hash'>;
  /** The policy in force; `null` when none is. */
  readonly record: PolicyRecord | null;
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
  deciding: Deciding,
  conclusion: Conclusion,
  followUp: FollowUp | null,
): DecidedOutputs {
  // Only orders and commands are named: a fact about the reclaim is nobody's to carry out.
  const outputIds = followUp === null || followUp.topic === 'decisions' ? [] : [followUp.event.id];
  const record = decisionRecord(deciding, conclusion, outputIds);
  return recordedOutputs(record, followUp, (hashed) => nodeOutput('decisions', hashed));
}

function decisionRecord(
  deciding: Deciding,
  conclusion: Conclusion,
  outputIds: readonly string[],
): Omit<Decision, 'outputSha256'> {
  const { decider, input, policies, record, overtakenBy } = deciding;
  return {
    type: 'fleetgc.node.decision',
    version: 1,
    id: decisionId(deciding),
    ...identityOf(input.event),
    takenAt: input.event.takenAt,
    decider,
    input: inputReference(input),
    policy: record && policyReference(record, policies),
    policySetHash: policies.hash,
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

/** What commands of both kinds begin with; `record` is the policy in force. */
export function commandHeader(deciding: Deciding<Inventory>, record: PolicyRecord) {
  const { event } = deciding.input;
  const decision = decisionId(deciding);
  return {
    type: 'fleetgc.node.command',
    version: COMMAND_VERSION,
    id: deriveId('command', decision),
    ...identityOf(event),
    decisionId: decision,
    inventoryId: event.id,
    takenAt: event.takenAt,
    lifetimeMs: record.policy.commandLifetimeMs,
    policy: policyReference(record, deciding.policies),
    reclaim: event.reclaim,
  } as const satisfies Partial<Command>;
}

/** The order that begins a reclaim or moves it on. */
export const observeOrder = (deciding: Deciding, reclaim: Reclaim): Observe => ({
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
  deciding: Deciding,
  ending: Pick<PressureUnrelieved, 'reclaim' | 'availableNow' | 'holders'>,
): PressureUnrelieved => ({
  type: 'fleetgc.node.pressure-unrelieved',
  version: 1,
  id: endingId(decisionId(deciding)),
  ...identityOf(deciding.input.event),
  takenAt: deciding.input.event.takenAt,
  ...ending,
});
