import type { DeadLetter } from '../../schemas/dead-letter.ts';
import { TOPICS, type TopicName } from '../../schemas/topics.ts';
import type { OutgoingRecord } from '../shared/event-log/port.ts';

/** The record key as text; null where the message had none. */
export const originalKey = ({ key }: Pick<DeadLetter, 'key'>): string | null =>
  key === null ? null : Buffer.from(key, 'base64').toString('utf8');

export const originalValue = ({ value }: Pick<DeadLetter, 'value'>): Buffer | null =>
  value === null ? null : Buffer.from(value, 'base64');

/** The message as it was, or why it cannot be put back. */
export type Original =
  | { readonly ok: true; readonly record: OutgoingRecord }
  | { readonly ok: false; readonly reason: string };

const REDRIVABLE: ReadonlyMap<string, TopicName> = new Map(
  Object.values(TOPICS)
    .filter(({ key }) => key === 'node')
    .map(({ name }) => [name, name]),
);

/**
 * Only messages about nodes are put back: they are judged anew by whoever reads them. An old policy would replace the
 * one that holds now.
 */
export function originalRecord(letter: DeadLetter): Original {
  const topic = REDRIVABLE.get(letter.topic);
  const key = originalKey(letter);
  const value = originalValue(letter);
  if (topic === undefined) return { ok: false, reason: `messages of ${letter.topic} are not put back` };
  if (key === null) return { ok: false, reason: 'it had no key, so nobody knows where it belongs' };
  if (Buffer.from(key, 'utf8').toString('base64') !== letter.key)
    return { ok: false, reason: 'its key is not text' };
  if (letter.omittedBytes > 0)
    return { ok: false, reason: 'it was too large to be kept here; it still lies at its own position' };
  if (value === null) return { ok: false, reason: 'it had no content' };
  return { ok: true, record: { topic, key, value, headers: letter.headers } };
}
