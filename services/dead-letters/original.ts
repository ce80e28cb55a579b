import { topicSpec } from '../../packages/event-log/partition.ts';
import type { OutgoingRecord } from '../../packages/event-log/port.ts';
import type { DeadLetter } from '../../schemas/events/dead-letter.ts';
import { TOPICS, type TopicName } from '../../schemas/events/topics.ts';

/** The record key as text; null where the message had none. */
export const originalKey = ({ key }: Pick<DeadLetter, 'key'>): string | null =>
  key === null ? null : Buffer.from(key, 'base64').toString('utf8');

export const originalValue = ({ value }: Pick<DeadLetter, 'value'>): Buffer | null =>
  value === null ? null : Buffer.from(value, 'base64');

/** Where the message lies on the log. */
export interface Position {
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: bigint;
}

/** The message as its dead letter tells it, or why it cannot be put back. */
export type Original =
  | { readonly ok: true; readonly record: OutgoingRecord }
  | { readonly ok: false; readonly reason: string };

const { diskStats, inventory, results, decisions } = TOPICS;

/**
 * Facts about nodes: whoever reads them judges them anew. An order is never put back, since a letter may be anybody's and
 * an old order asks for what nobody may want any more; an old policy would replace the one that holds now.
 */
const REDRIVABLE: ReadonlyMap<string, TopicName> = new Map(
  [diskStats, inventory, results, decisions].map(({ name }) => [name, name]),
);

/** What would go back, by the letter alone: whoever may write dead letters may write anything into one. */
export function originalRecord(letter: DeadLetter): Original {
  const topic = REDRIVABLE.get(letter.topic);
  const key = originalKey(letter);
  const value = originalValue(letter);
  if (topic === undefined)
    return { ok: false, reason: `messages of ${letter.topic} are not put back, only facts about nodes are` };
  if (!isPosition(letter, topic))
    return { ok: false, reason: 'its position is none that this topic can have' };
  if (key === null) return { ok: false, reason: 'it had no key, so nobody knows where it belongs' };
  if (Buffer.from(key, 'utf8').toString('base64') !== letter.key)
    return { ok: false, reason: 'its key is not text' };
  if (letter.omittedBytes > 0)
    return { ok: false, reason: 'it was too large to be kept here; it still lies at its own position' };
  if (value === null) return { ok: false, reason: 'it had no content' };
  return { ok: true, record: { topic, key, value, headers: letter.headers } };
}

const isPosition = ({ partition, offset }: DeadLetter, topic: TopicName): boolean =>
  partition < topicSpec(topic).partitions && /^\d{1,18}$/.test(offset);
