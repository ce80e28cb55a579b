import { TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';
import type { Outcome, Read, Target } from '../../engine/target.ts';
import { REFUSED } from '../../engine/target.ts';
import { schemaOf } from '../../mutate/schema.ts';
import { CLAIMS, isToBeRefused, requireAgreement, Signatories } from './claims.ts';
import { type MadeMessage, madeMessage, messageOf, messageSchema } from './message.ts';
import { TOPIC_READERS } from './readers.ts';
import type { ReadMessage } from './topic-readers.ts';

/** Every message of a topic, for all who read it. */
export function topicTarget(topic: TopicId): Target {
  const { events, readers } = TOPIC_READERS[topic];
  return {
    readers: Object.keys(readers),
    schema: schemaOf(messageSchema(topic)),
    seeds: () => [
      ...events().map((event) => messageOf(event)),
      ...CLAIMS.filter((claim) => isToBeRefused(claim, topic)).flatMap((claim) =>
        events()
          .slice(0, 2)
          .map((event) => messageOf(event, claim)),
      ),
    ],
    open: () => {
      requireAgreement(topic);
      const signatories = new Signatories();
      return readAll(
        topic,
        signatories,
        Object.values(readers).map((open) => open(signatories)),
      );
    },
  };
}

const readAll =
  (topic: TopicId, signatories: Signatories, readers: readonly ReadMessage[]): Read =>
  async (input) => {
    const message = madeMessage(topic, input, signatories);
    if (message === null) return REFUSED;
    const outcomes: Outcome[] = [];
    for (const read of readers) outcomes.push(await read(message));
    const passed = outcomes.some((outcome) => outcome.passed);
    const effect = outcomes.find((outcome) => outcome.effect !== null)?.effect ?? null;
    return { passed, effect: effect ?? (passed ? tooLarge(topic, message) : null) };
  };

function tooLarge(topic: TopicId, { record }: MadeMessage): string | null {
  const { length = 0 } = record.value ?? {};
  return length > TOPICS[topic].bounds.bytes ? `a message of more bytes than ${topic} has is read` : null;
}
