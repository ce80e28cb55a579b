import type { DeadLetter, DeadLetterRedrive } from '../../schemas/dead-letter.ts';
import { type Publication, toRecord } from '../shared/envelope.ts';
import type { EventLog, OutgoingRecord } from '../shared/event-log/port.ts';
import { deriveId } from '../shared/ids.ts';
import { keyOf } from '../shared/record-key.ts';
import { originalRecord } from './original.ts';
import type { StoredLetter } from './stored-letters.ts';

/** How many messages go back between two marks; a crash repeats at most these, which is harmless. */
const BATCH_SIZE = 100;

/** A message to put back, and the dead letters that hold it: each group that gave it up wrote one. */
export interface Redrive {
  readonly record: OutgoingRecord;
  readonly letters: readonly DeadLetter[];
}

/** What will be done with the chosen dead letters. */
export interface RedrivePlan {
  readonly redrives: readonly Redrive[];
  /** Their messages were put back before. */
  readonly done: readonly DeadLetter[];
  readonly refused: readonly { readonly letter: DeadLetter; readonly reason: string }[];
}

/** `again` also puts back what was put back before. */
export function planRedrive(chosen: readonly StoredLetter[], again: boolean): RedrivePlan {
  const isDone = ({ redrivenAtMs }: StoredLetter): boolean => redrivenAtMs !== null && !again;
  const originals = chosen
    .filter((stored) => !isDone(stored))
    .map(({ letter }) => ({ letter, original: originalRecord(letter) }));
  const redrivable = originals.flatMap(({ letter, original }) =>
    original.ok ? [{ letter, record: original.record }] : [],
  );
  const byMessage = Map.groupBy(redrivable, ({ letter }) => positionText(letter));
  return {
    redrives: [...byMessage.values()].flatMap(toRedrive).toSorted(byPosition),
    done: chosen.filter(isDone).map(({ letter }) => letter),
    refused: originals.flatMap(({ letter, original }) =>
      original.ok ? [] : [{ letter, reason: original.reason }],
    ),
  };
}

const positionText = ({ topic, partition, offset }: DeadLetter): string => `${topic}/${partition}/${offset}`;

function toRedrive(
  group: readonly { readonly letter: DeadLetter; readonly record: OutgoingRecord }[],
): readonly Redrive[] {
  const [first] = group;
  return first ? [{ record: first.record, letters: group.map(({ letter }) => letter) }] : [];
}

/** In the order in which they were on the log, so that messages of one node keep theirs. */
function byPosition({ letters: [a] }: Redrive, { letters: [b] }: Redrive): number {
  if (!a || !b) return 0;
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1;
  return a.partition - b.partition || Number(BigInt(a.offset) - BigInt(b.offset));
}

export interface RedriveNeeds {
  readonly log: Pick<EventLog, 'publish'>;
  readonly publication: Publication;
  readonly signal: AbortSignal;
  /** Called between batches with the number of messages put back so far. */
  readonly onProgress: (count: number) => void;
}

/**
 * Puts the messages back as they were and then marks their dead letters, batch by batch. Stopped in between, a batch
 * may go back twice: the consumers take a repeated message for what it is. Returns how many went back.
 */
export async function redrive(
  redrives: readonly Redrive[],
  { log, publication, signal, onProgress }: RedriveNeeds,
): Promise<number> {
  let count = 0;
  for (let start = 0; start < redrives.length && !signal.aborted; start += BATCH_SIZE) {
    const batch = redrives.slice(start, start + BATCH_SIZE);
    await log.publish(batch.map(({ record }) => record));
    await log.publish(batch.flatMap(({ letters }) => letters).map((letter) => mark(letter, publication)));
    count += batch.length;
    if (count < redrives.length) onProgress(count);
  }
  return count;
}

function mark(letter: DeadLetter, publication: Publication) {
  const event: DeadLetterRedrive = {
    type: 'fleetgc.dead-letter-redrive',
    version: 1,
    id: deriveId('redrive', letter.id),
    deadLetterId: letter.id,
    key: letter.key,
  };
  return toRecord({ topic: 'deadLetters', key: keyOf('deadLetters', event), event }, publication);
}
