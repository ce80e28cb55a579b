import type { EventLog, ReadFrom } from '../../packages/event-log/port.ts';
import { parseRecord } from '../../packages/pipeline/parse/parse-record.ts';
import type { DeadLetter } from '../../schemas/events/dead-letter.ts';
import { TOPICS } from '../../schemas/events/topics.ts';

/** A dead letter as it lies on the log. */
export interface StoredLetter {
  readonly letter: DeadLetter;
  /** Epoch milliseconds, by the log's clock: when a consumer gave the message up. */
  readonly diedAtMs: number;
  /** When its message was put back; null when it was not. */
  readonly redrivenAtMs: number | null;
}

export interface StoredLetters {
  /** Oldest first. */
  readonly letters: readonly StoredLetter[];
  /** Records of the topic that are no dead letters. */
  readonly unreadable: number;
}

/** Reads the topic to its end, without a group. */
export async function readStoredLetters(
  log: Pick<EventLog, 'read'>,
  from: ReadFrom,
  signal: AbortSignal,
): Promise<StoredLetters> {
  const died = new Map<string, Omit<StoredLetter, 'redrivenAtMs'>>();
  const redrivenAtMs = new Map<string, number>();
  let unreadable = 0;
  for await (const event of log.read({ topic: TOPICS.deadLetters.name, from, to: 'end' }, signal)) {
    if (event.kind !== 'record') continue;
    const parsed = parseRecord('deadLetters', event.record);
    const { timestampMs } = event.record;
    if (!parsed.ok) unreadable += 1;
    else if (parsed.event.type === 'fleetgc.dead-letter-redrive')
      redrivenAtMs.set(parsed.event.deadLetterId, timestampMs);
    else died.set(parsed.event.id, { letter: parsed.event, diedAtMs: timestampMs });
  }
  const letters = [...died.values()].map((stored) => ({
    ...stored,
    redrivenAtMs: redrivenAtMs.get(stored.letter.id) ?? null,
  }));
  return { letters: letters.toSorted(byTime), unreadable };
}

const byTime = (a: StoredLetter, b: StoredLetter): number =>
  a.diedAtMs - b.diedAtMs || (a.letter.id < b.letter.id ? -1 : 1);
