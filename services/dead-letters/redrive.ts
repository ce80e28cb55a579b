import { deriveId } from '../../packages/canonical/ids.ts';
import type { EventLog, OutgoingRecord } from '../../packages/event-log/port.ts';
import { type Publication, toRecord } from '../../packages/pipeline/envelope.ts';
import { keyOf } from '../../packages/pipeline/parse/record-key.ts';
import type { DeadLetter, DeadLetterRedrive } from '../../schemas/events/dead-letter.ts';
import { originalRecord, type Position } from './original.ts';
import type { StoredLetter } from './stored-letters.ts';

/** How many messages go back between two marks; a crash repeats at most these, which is harmless. */
const BATCH_SIZE = 100;

/** A message to put back, and the dead letters that hold it: each group that gave it up wrote one. */
export interface Redrive {
  readonly at: Position;
  readonly record: OutgoingRecord;
  readonly letters: readonly DeadLetter[];
}

/** What will be done with the chosen dead letters. */
export interface RedrivePlan {
  readonly redrives: readonly Redrive[];
  /** Their messages were put back before. */
  readonly done: readonly DeadLetter[];
  readonly refused: readonly RefusedLetter[];
}

export interface RefusedLetter {
  readonly letter: DeadLetter;
  readonly reason: string;
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
  const byMessage = Map.groupBy(redrivable, contentText);
  return {
    redrives: [...byMessage.values()].flatMap(toRedrive).toSorted(byPosition),
    done: chosen.filter(isDone).map(({ letter }) => letter),
    refused: originals.flatMap(({ letter, original }) =>
      original.ok ? [] : [{ letter, reason: original.reason }],
    ),
  };
}

interface Redrivable {
  readonly letter: DeadLetter;
  readonly record: OutgoingRecord;
}

/** Also by what they hold: a letter that somebody made up must not stand for a true one of the same position. */
const contentText = ({ letter: { topic, partition, offset, key, value, headers } }: Redrivable): string =>
  JSON.stringify([topic, partition, offset, key, value, Object.entries(headers).toSorted()]);

function toRedrive(group: readonly Redrivable[]): readonly Redrive[] {
  const [first] = group;
  if (first === undefined) return [];
  const { record, letter } = first;
  const at = { topic: record.topic, partition: letter.partition, offset: BigInt(letter.offset) };
  return [{ at, record, letters: group.map((each) => each.letter) }];
}

/** In the order in which they were on the log, so that messages of one node keep theirs. */
function byPosition({ at: a }: Redrive, { at: b }: Redrive): number {
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1;
  return a.partition - b.partition || Number(a.offset - b.offset);
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
