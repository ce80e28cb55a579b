import type { ImageRemoval } from '../../schemas/command.ts';
import type { NamedKeep } from '../../schemas/image-pattern.ts';
import type { Inventory } from '../../schemas/inventory.ts';
import type { Policy, PolicyRecord, PolicySet } from '../../schemas/policy.ts';
import { keepAll, NO_VERDICTS } from '../shared/decision/conclusion.ts';
import { type ClosedGate, gateFor } from '../shared/decision/gate.ts';
import {
  commandHeader,
  type Deciding,
  decisionRecord,
  pressureUnrelieved,
} from '../shared/decision-record.ts';
import { type Handler, type Input, nodeOutput, type Outputs } from '../shared/handler.ts';
import { DECIDER, decide, type ImageConclusion } from './decide.ts';

/**
 * An inventory in; a decision record out, and after it a command to remove images, or the fact that a reclaim ended
 * above its target.
 */
export const imageGcHandler =
  (policies: () => PolicySet): Handler<Inventory> =>
  (input) =>
    answer(input, policies());

function answer(input: Input<Inventory>, policies: PolicySet): Outputs {
  const gate = gateFor(policies, input.event);
  const deciding = { decider: DECIDER, input, policies, record: gate.record };
  if (gate.kind === 'closed') return [[nodeOutput('decisions', closedRecord(deciding, gate))]];
  const conclusion = decide(input.event, gate.record.policy);
  const command = conclusion.outcome === 'commanded' ? imageRemoval(deciding, gate.record, conclusion) : null;
  const recorded = [
    nodeOutput('decisions', decisionRecord(deciding, conclusion, command ? [command.id] : [])),
  ];
  if (command) return [recorded, [nodeOutput('commands', command)]];
  const { reclaim, unrelievedAt, holders } = conclusion;
  if (reclaim === null || unrelievedAt === null) return [recorded];
  const unrelieved = pressureUnrelieved(deciding, {
    reclaim,
    availableNow: unrelievedAt,
    holders: [...holders],
  });
  return [recorded, [nodeOutput('decisions', unrelieved)]];
}

function closedRecord(deciding: Deciding<Inventory>, { rule, ...gate }: ClosedGate) {
  const { event } = deciding.input;
  const images = event.status === 'complete' ? keepAll(event.images, { rule, facts: {} }) : [];
  const verdicts = { ...NO_VERDICTS, images };
  return decisionRecord(deciding, { ...gate, verdicts, estimatedBytes: 0, reclaim: event.reclaim }, []);
}

const imageRemoval = (
  deciding: Deciding<Inventory>,
  record: PolicyRecord,
  { items, holders, reclaim }: ImageConclusion,
): ImageRemoval => ({
  ...commandHeader(deciding, record),
  kind: 'image-removal',
  reclaim,
  keep: keepRules(record.policy),
  holders: [...holders],
  items: [...items],
});

/** What the executor can tell by an image's names; the other rules have decided already. */
const keepRules = ({ keep: { patterns, digests, labels, unpullable } }: Policy): NamedKeep => ({
  patterns,
  digests,
  labels,
  unpullable,
});
