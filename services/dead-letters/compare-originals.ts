import type { EventLog, Headers, LogRecord, OutgoingRecord } from '../../packages/event-log/port.ts';
import type { Position } from './original.ts';
import type { Redrive, RefusedLetter } from './redrive.ts';

/** Positions so near to each other are read in one go, with what lies between them. */
const MOST_BETWEEN = 50n;

export interface ComparedOriginals {
  /** What the letters hold is what lies on the log, byte for byte. */
  readonly confirmed: readonly Redrive[];
  readonly refused: readonly RefusedLetter[];
}

/**
 * Reads each message again where its dead letters say that it lies: a letter is only a copy, and whoever may write
 * letters can write any message into one. `redrives` are in the order of the log.
 */
export async function compareOriginals(
  redrives: readonly Redrive[],
  log: Pick<EventLog, 'read'>,
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
  log: Pick<EventLog, 'read'>,
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
function differenceOf(told: OutgoingRecord, found: LogRecord): string | null {
  const differing = [
    ...(told.key === found.key ? [] : ['key']),
    ...(isSameValue(told.value, found.value) ? [] : ['content']),
    ...(areSameHeaders(told.headers, found.headers) ? [] : ['headers']),
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
