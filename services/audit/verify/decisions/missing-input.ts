import { TOPICS, type TopicName } from '../../../../schemas/events/topics.ts';
import type { RecordedDecision } from '../../events/recorded-decision.ts';
import { SETTLED_MS } from '../coverage.ts';
import { decidesOn, type Inputs, inputTopicOf, isOffset } from './inputs.ts';

/** Where a decision was read. */
export interface ReadFromLog {
  readonly inputs: Inputs;
  /** Whether retention deletes from this log; from an archive nothing goes. */
  readonly deletes: boolean;
}

/** Why an input that is not there cannot have been there, in half a sentence; `null` where retention may have taken it. */
export async function whyNeverWas(decision: RecordedDecision, from: ReadFromLog): Promise<string | null> {
  const { record, head } = decision;
  const { input, decider } = head;
  const topic = inputTopicOf(input.topic);
  if (topic === undefined || decidesOn(decider.name, topic) === false)
    return `${decider.name} decides on nothing of ${input.topic}`;
  if (input.partition !== record.partition) return `its node is in partition ${record.partition}`;
  if (!isOffset(input.offset)) return 'that is no offset';
  if (await from.inputs.beganAfter(topic, record.timestampMs)) return null;
  // Retention takes the older first, and a decision is written after its input.
  if (!(await from.inputs.isPastEnd(input)) || !(await wouldBeThere(decision, topic, from))) return null;
  return 'nothing lies there or behind it, and older messages are there';
}

/** What is kept for a shorter time than decisions may be gone when an archive comes to it, unless later ones were archived. */
async function wouldBeThere(
  { record }: RecordedDecision,
  topic: TopicName,
  { inputs, deletes }: ReadFromLog,
): Promise<boolean> {
  return deletes || topic === TOPICS.inventory.name
    ? true
    : await inputs.hasSince(topic, record.timestampMs + SETTLED_MS);
}
