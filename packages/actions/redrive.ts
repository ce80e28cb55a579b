import type { DeadLetter, DeadLetterRedrive } from '../../schemas/events/dead-letter.ts';
import { deriveId } from '../canonical/ids.ts';
import type { Headers, LogPublisher, LogReader, LogRecord, OutgoingRecord } from '../log/port.ts';
import { originalRecord, type Position, type StoredLetter } from '../read-model/letters.ts';
import { type Doing, said } from '../records/doing.ts';
import { keyOf } from '../records/parse/record-key.ts';
import { type Publication, toRecord } from '../records/publisher.ts';

/** How many messages go back between two marks; a crash repeats at most these, which is harmless. */
const BATCH_SIZE = 100;

/** A message to put back, and the dead letters that hold it: each group that gave it up wrote one. */
interface Redrive {
  readonly at: Position;
  readonly record: OutgoingRecord;
  readonly letters: readonly DeadLetter[];
}

/** What will be done with the chosen dead letters. */
interface RedrivePlan {
  readonly redrives: readonly Redrive[];
  /** Their messages were put back before. */
  readonly done: readonly DeadLetter[];
  readonly refused: readonly RefusedLetter[];
}

interface RefusedLetter {
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

interface RedriveNeeds {
  readonly log: LogPublisher;
  readonly publication: Publication;
  readonly doing: Doing;
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
  { log, publication, doing, signal, onProgress }: RedriveNeeds,
): Promise<number> {
  let count = 0;
  for (let start = 0; start < redrives.length && !signal.aborted; start += BATCH_SIZE) {
    const batch = redrives.slice(start, start + BATCH_SIZE);
    await log.publish(batch.map(({ record }) => record));
    const letters = batch.flatMap((each) => each.letters);
    await log.publish(letters.map((letter) => mark(letter, { publication, doing })));
    count += batch.length;
    if (count < redrives.length) onProgress(count);
  }
  return count;
}

function mark(letter: DeadLetter, { publication, doing }: Pick<RedriveNeeds, 'publication' | 'doing'>) {
  const event: DeadLetterRedrive = {
    type: 'fleetgc.dead-letter-redrive',
    version: 1,
    id: deriveId('redrive', letter.id),
    deadLetterId: letter.id,
    key: letter.key,
    ...said(doing),
  };
  return toRecord({ topic: 'deadLetters', key: keyOf('deadLetters', event), event }, publication);
}

/** What is to be done with the chosen letters, each compared with what lies on the log. */
export interface ComparedRedrive extends ComparedOriginals {
  /** Their messages were put back before. */
  readonly done: readonly DeadLetter[];
}

export async function compareChosen(
  chosen: readonly StoredLetter[],
  { log, again }: { readonly log: LogReader; readonly again: boolean },
  signal: AbortSignal,
): Promise<ComparedRedrive> {
  const { redrives, done, refused } = planRedrive(chosen, again);
  const compared = await compareOriginals(redrives, log, signal);
  return { confirmed: compared.confirmed, done, refused: [...refused, ...compared.refused] };
}

/** Positions so near to each other are read in one go, with what lies between them. */
const MOST_BETWEEN = 50n;

interface ComparedOriginals {
  /** What the letters hold is what lies on the log, byte for byte. */
  readonly confirmed: readonly Redrive[];
  readonly refused: readonly RefusedLetter[];
}

/**
 * Reads each message again where its dead letters say that it lies: a letter is only a copy, and whoever may write
 * letters can write any message into one. `redrives` are in the order of the log.
 */
async function compareOriginals(
  redrives: readonly Redrive[],
  log: LogReader,
  signal: AbortSignal,
): Promise<ComparedOriginals> {
  const reasons = new Map<Redrive, string | null>();
  for (const run of runsOf(redrives)) {
    const waiting = Map.groupBy(run, ({ at }) => at.offset);
    for await (const record of recordsOf(run, log, signal))
      for (const redrive of waiting.get(record.offset) ?? [])
        reasons.set(redrive, differenceOf(redrive.record, record));
  }
  const reasonOf = (redrive: Redrive): string | null =>
    reasons.has(redrive) ? (reasons.get(redrive) ?? null) : missingText(redrive.at);
  return {
    confirmed: redrives.filter((redrive) => reasonOf(redrive) === null),
    refused: redrives.flatMap((redrive) => {
      const reason = reasonOf(redrive);
      return reason === null ? [] : redrive.letters.map((letter) => ({ letter, reason }));
    }),
  };
}

/** Neighbours on one partition. */
function runsOf(redrives: readonly Redrive[]): readonly (readonly Redrive[])[] {
  const runs: Redrive[][] = [];
  for (const redrive of redrives) {
    const last = runs.at(-1)?.at(-1);
    if (last !== undefined && areNear(last.at, redrive.at)) runs.at(-1)?.push(redrive);
    else runs.push([redrive]);
  }
  return runs;
}

const areNear = (a: Position, b: Position): boolean =>
  a.topic === b.topic && a.partition === b.partition && b.offset - a.offset <= MOST_BETWEEN;

async function* recordsOf(
  run: readonly Redrive[],
  log: LogReader,
  signal: AbortSignal,
): AsyncGenerator<LogRecord, void> {
  const [first] = run;
  const last = run.at(-1);
  if (first === undefined || last === undefined) return;
  const { topic, partition, offset } = first.at;
  const to = { before: last.at.offset + 1n };
  for await (const event of log.read({ topic, partition, from: { offset }, to }, signal))
    if (event.kind === 'record') yield event.record;
}

/** `null` where the letter holds what lies on the log. */
function differenceOf(reported: OutgoingRecord, found: LogRecord): string | null {
  const differing = [
    ...(reported.key === found.key ? [] : ['key']),
    ...(isSameValue(reported.value, found.value) ? [] : ['content']),
    ...(areSameHeaders(reported.headers, found.headers) ? [] : ['headers']),
  ];
  if (differing.length === 0) return null;
  return `${placeText(found)} holds another message (different: ${differing.join(', ')}): somebody made this dead letter up, or the topic was made anew since`;
}

const missingText = (at: Position): string =>
  `nothing lies at ${placeText(at)} any more, so nobody can tell whether the message was ever there`;

const placeText = ({ topic, partition, offset }: Position): string => `${topic}/${partition}@${offset}`;

const isSameValue = (a: Buffer | null, b: Buffer | null): boolean => a !== null && b !== null && a.equals(b);

function areSameHeaders(a: Headers, b: Headers): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
