import { brokenTexts, HALF_A_CHARACTER, mayHaveBrokenText } from '../../../schemas/events/broken-texts.ts';
import { type EventOf, TOPICS, type TopicId, type TopicName } from '../../../schemas/events/topics.ts';
import { parseValue, tooLargeText, tooManyBytes } from './parse-record.ts';

/** How the text of an event is larger than what is read on this topic, in a sentence; `null` where it is not. */
export const whyTooLarge = (topic: TopicName, text: string): string | null =>
  tooManyBytes(topic, Buffer.byteLength(text)) ?? tooLargeText(topic, text);

/**
 * Why consumers of the topic would dead-letter an event of this process, in a sentence; `null` if they accept it. Its text
 * need not be parsed for that.
 */
export function whyUnread<Id extends TopicId>(topic: Id, event: EventOf<Id>, text: string): string | null {
  const tooLarge = whyTooLarge(TOPICS[topic].name, text);
  if (tooLarge !== null) return tooLarge;
  const [broken] = mayHaveBrokenText(text) ? brokenTexts(event) : [];
  if (broken !== undefined) return `its texts ${HALF_A_CHARACTER}: ${broken.text}`;
  const parsed = parseValue(topic, event);
  return parsed.ok ? null : parsed.rejection.message;
}
