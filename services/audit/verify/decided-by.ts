import { endingId } from '../../../packages/decision/decision-record.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import type { TopicId } from '../../../schemas/events/topics.ts';
import type { Redecided } from './decide-again.ts';
import type { Decided } from './decided-outputs.ts';
import { placeOf } from './findings.ts';
import type { Inputs } from './inputs.ts';
import type { RecordedDecision } from './recorded-decision.ts';
import { removableObjects, removalCounts } from './removable.ts';

/** All that must lie on the log after a decision. */
export function decidedBy(
  { record, value, head }: RecordedDecision,
  { input, outputs }: Redecided,
  inputs: Inputs,
): readonly Decided[] {
  const inventory = input && head.outcome === 'commanded' ? inputs.messageOf(input) : null;
  const common = {
    decision: placeOf(record),
    node: nodeKey(head),
    decider: head.decider.name,
    removable: inventory?.ok ? removableObjects(value, inventory.event) : null,
    removals: outputs === null && head.outputIds.length > 0 ? removalCounts(value) : null,
  };
  if (outputs !== null)
    return outputs.map((content) => ({
      ...common,
      id: content.id,
      content,
      topicId: topicOf(content.type),
    }));
  const topicId = head.outcome === 'commanded' ? 'commands' : 'observe';
  const listed = head.outputIds.map((id) => ({ ...common, id, content: null, topicId }) as const);
  return [...listed, { ...common, id: endingId(head.id), content: null, topicId: null }];
}

function topicOf(type: string): TopicId {
  if (type === 'fleetgc.node.command') return 'commands';
  return type === 'fleetgc.node.observe' ? 'observe' : 'decisions';
}
