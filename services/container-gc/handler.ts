import type { ContainerRemoval } from '../../schemas/command.ts';
import type { Inventory } from '../../schemas/inventory.ts';
import type { PolicyRecord, PolicySet } from '../../schemas/policy.ts';
import { keepAll, NO_VERDICTS, type Verdicts } from '../shared/decision/conclusion.ts';
import { type ClosedGate, gateFor } from '../shared/decision/gate.ts';
import {
  commandHeader,
  type Deciding,
  decisionRecord,
  observeOrder,
  pressureUnrelieved,
} from '../shared/decision-record.ts';
import { type Handler, type Input, nodeOutput, type Output, type Outputs } from '../shared/handler.ts';
import { type ContainerConclusion, DECIDER, decide } from './decide.ts';

/**
 * An inventory in; a decision record out, and after it a command to remove containers and sandboxes, or the order to
 * go on to a reclaim's next action, or the fact that a reclaim ended above its target.
 */
export const containerGcHandler =
  (policies: () => PolicySet): Handler<Inventory> =>
  (input) =>
    answer(input, policies());

function answer(input: Input<Inventory>, policies: PolicySet): Outputs {
  const gate = gateFor(policies, input.event);
  const deciding = { decider: DECIDER, input, policies, record: gate.record };
  if (gate.kind === 'closed') return [[nodeOutput('decisions', closedRecord(deciding, gate))]];
  const conclusion = decide(input.event, gate.record.policy);
  const followUp = followUpOf(deciding, gate.record, conclusion);
  const outputIds = followUp && followUp.topic !== 'decisions' ? [followUp.event.id] : [];
  const recorded = [nodeOutput('decisions', decisionRecord(deciding, conclusion, outputIds))];
  return followUp ? [recorded, [followUp]] : [recorded];
}

function closedRecord(deciding: Deciding<Inventory>, { rule, ...gate }: ClosedGate) {
  const { event } = deciding.input;
  const kept = { rule, facts: {} };
  const verdicts: Verdicts =
    event.status === 'complete'
      ? {
          images: [],
          containers: keepAll(event.containers, kept),
          sandboxes: keepAll(event.sandboxes, kept),
          podLogDirectories: keepAll(event.podLogDirectories ?? [], kept),
          logSymlinks: keepAll(event.logSymlinks ?? [], kept),
        }
      : NO_VERDICTS;
  return decisionRecord(deciding, { ...gate, verdicts, estimatedBytes: 0, reclaim: event.reclaim }, []);
}

function followUpOf(
  deciding: Deciding<Inventory>,
  record: PolicyRecord,
  { outcome, items, goesOnAt, reclaim, unrelievedAt }: ContainerConclusion,
): Output<'commands'> | Output<'observe'> | Output<'decisions'> | null {
  if (outcome === 'commanded') return nodeOutput('commands', containerRemoval(deciding, record, items));
  if (goesOnAt !== null) return nodeOutput('observe', observeOrder(deciding, goesOnAt));
  if (reclaim === null || unrelievedAt === null) return null;
  return nodeOutput(
    'decisions',
    pressureUnrelieved(deciding, { reclaim, availableNow: unrelievedAt, holders: [] }),
  );
}

const containerRemoval = (
  deciding: Deciding<Inventory>,
  record: PolicyRecord,
  items: ContainerConclusion['items'],
): ContainerRemoval => ({
  ...commandHeader(deciding, record),
  kind: 'container-removal',
  minimumCreatedContainerAgeMs: record.policy.minimumCreatedContainerAgeMs,
  items: [...items],
});
