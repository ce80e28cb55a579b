import type { LogRecord, OutgoingRecord } from '../../../packages/log/port.ts';
import type { TopicName } from '../../../schemas/events/topics.ts';
import type { Random } from '../../sim/random.ts';
import type { FollowedLog } from '../fleet/followed-log.ts';

/** What is sent again: the oldest messages come late, the newest twice, and `shuffled` ones out of order. */
export const REPETITIONS = ['oldest', 'newest', 'shuffled'] as const;
type Repetition = (typeof REPETITIONS)[number];

/** Sends messages again, byte for byte, as a producer does that got no answer, or a replica that comes back. */
export async function repeat(
  followed: FollowedLog,
  topic: TopicName,
  how: Repetition,
  { count, random }: { readonly count: number; readonly random: Random },
): Promise<void> {
  const records = followed.records(topic).toSorted((a, b) => a.timestampMs - b.timestampMs);
  const chosen = {
    oldest: () => records.slice(0, count),
    newest: () => records.slice(-count),
    shuffled: () => shuffled(records, random).slice(0, count),
  }[how]();
  await followed.publish(chosen.flatMap(asSent));
}

function shuffled<T>(items: readonly T[], random: Random): readonly T[] {
  return items
    .map((item) => ({ item, place: random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item);
}

export const asSent = ({ topic, key, value, headers }: LogRecord): readonly OutgoingRecord[] =>
  key === null ? [] : [{ topic, key, value, headers }];
