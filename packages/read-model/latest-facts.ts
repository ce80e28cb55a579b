import {
  type LatestFact,
  LOCATED_FACTS,
  type LocatedFact,
  locatedSubject,
} from '../../schemas/events/latest-fact.ts';
import { TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import { valueSha256 } from '../canonical/ids.ts';
import type { LogReader, LogRecord } from '../log/port.ts';
import { MINUTE_MS } from '../process/durations.ts';
import { judgeLatestFact, MOST_LATE_MS } from '../records/latest-facts.ts';
import { claimedSignature } from '../records/trust/signature.ts';
import { beside, partitionsOf, scan } from './scan.ts';
import { recordedTrust } from './trust.ts';

/** Of so many silent nodes or clusters the exact last moment is looked up. */
const MOST_DATED = 30;
/**
 * From its position a fact is followed for so long: the next position is due after five minutes, and one that somebody put back is no older
 * than `MOST_LATE_MS`.
 */
const READ_ON_MS = MOST_LATE_MS + MINUTE_MS;
/** Positions that lie no further apart are read in one go. */
const READ_THROUGH_RECORDS = 200n;

/** Whom the log tells of, and of whom it does not tell more. */
export interface UnlocatedSubject {
  readonly key: string;
  /** `position-refused`: the position is not true. `fact-not-kept`: the fact is not on the log any more. */
  readonly kind: 'position-refused' | 'fact-not-kept';
  /** When it was heard last, by the log's clock; `null` where nobody can tell. */
  readonly heardMs: number | null;
  readonly why: string;
}

interface AskedFacts {
  readonly log: LogReader;
  readonly fact: LocatedFact;
  /** Of those that were heard since: epoch milliseconds. */
  readonly fromMs: number;
  /** Those that were heard already are not looked for. */
  readonly isKnown: (key: string) => boolean;
  /** Asked of each position. */
  readonly isBelieved: IsBelieved;
}

/** Whether a fact, or a position of one, counts. */
export type IsBelieved = (topic: TopicId, record: LogRecord) => boolean;

/**
 * Gives the latest facts of those that are not known to `take`, those of each in the order of the log, by where `gc.latest-facts` says that
 * they lie. Nothing is taken from there but the place: a fact that is not what was said is not taken. Resolves to those of which there is
 * a position and no fact.
 */
export async function readLatestFacts(
  { log, fact, fromMs, isKnown, isBelieved }: AskedFacts,
  take: (record: LogRecord) => void,
  signal: AbortSignal,
): Promise<readonly UnlocatedSubject[]> {
  const positions = new Positions(isBelieved);
  const part = {
    topics: ['latestFacts'],
    partitions: partitionsOf(LOCATED_FACTS[fact]),
    ranges: [{ fromMs, toMs: null }],
  } as const;
  const note = (record: LogRecord): void => {
    const subject = record.key === null ? null : locatedSubject(record.key);
    if (subject?.fact === fact && !isKnown(subject.key)) positions.note(subject.key, record);
  };
  await scan(log, part, ({ record }) => note(record), signal);
  const runs = runsOf(positions.located().filter(({ loggedAtMs }) => loggedAtMs >= fromMs));
  const found = new Set<string>();
  const unlocated: UnlocatedSubject[] = [...positions.refused()];
  await beside(runs, async (run) => {
    const oldest = await readRun({ log, fact, run, found, take }, signal);
    for (const { key, offset, loggedAtMs } of run.places) {
      if (found.has(key)) continue;
      const isKept = oldest !== null && offset >= oldest;
      unlocated.push(
        isKept
          ? { key, kind: 'position-refused', heardMs: null, why: 'another record lies there' }
          : {
              key,
              kind: 'fact-not-kept',
              heardMs: loggedAtMs,
              why: 'the fact is not on the event log any more',
            },
      );
    }
  });
  return unlocated;
}

interface Place {
  readonly key: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly loggedAtMs: number;
  readonly sha256: string;
}

/** What the log says last of where facts lie. */
class Positions {
  readonly #isBelieved: IsBelieved;
  readonly #located = new Map<string, Place>();
  readonly #refused = new Map<string, string>();

  constructor(isBelieved: IsBelieved) {
    this.#isBelieved = isBelieved;
  }

  /** A true position that still lies there counts, whatever somebody wrote after it. */
  note(key: string, record: LogRecord): void {
    const judged = judgeLatestFact(record);
    if (!judged.ok) this.#refused.set(key, judged.why);
    else if (!this.#isBelieved('latestFacts', record))
      this.#refused.set(key, 'no key of its subject signed it');
    else if (judged.latest.loggedAtMs >= (this.#located.get(key)?.loggedAtMs ?? 0))
      this.#located.set(key, placeIn(key, judged.latest));
  }

  /** The latest first. */
  located(): readonly Place[] {
    return [...this.#located.values()].toSorted((a, b) => b.loggedAtMs - a.loggedAtMs);
  }

  *refused(): Generator<UnlocatedSubject> {
    for (const [key, why] of this.#refused)
      if (!this.#located.has(key)) yield { key, kind: 'position-refused', heardMs: null, why };
  }
}

const placeIn = (key: string, { partition, offset, loggedAtMs, sha256 }: LatestFact): Place => ({
  key,
  partition,
  offset: BigInt(offset),
  loggedAtMs,
  sha256,
});

/** A part of a partition that is read in one go. */
interface Run {
  readonly partition: number;
  readonly places: readonly Place[];
  /** Up to when it is read, by the log's clock; 0 where it ends at the last place. */
  readonly untilMs: number;
}

/** `places`: the latest first. */
function runsOf(places: readonly Place[]): readonly Run[] {
  const dated = places.map((place, index) => ({
    place,
    untilMs: index < MOST_DATED ? place.loggedAtMs + READ_ON_MS : 0,
  }));
  const byPartition = Map.groupBy(dated, ({ place }) => place.partition);
  return [...byPartition.values()].flatMap((those) => {
    const runs: Run[] = [];
    for (const { place, untilMs } of those.toSorted((a, b) => (a.place.offset < b.place.offset ? -1 : 1))) {
      const last = runs.at(-1);
      const end = last?.places.at(-1);
      if (last !== undefined && end !== undefined && isNear(end, last.untilMs, place))
        runs[runs.length - 1] = {
          ...last,
          places: [...last.places, place],
          untilMs: Math.max(last.untilMs, untilMs),
        };
      else runs.push({ partition: place.partition, places: [place], untilMs });
    }
    return runs;
  });
}

const isNear = (end: Place, untilMs: number, next: Place): boolean =>
  next.offset - end.offset <= READ_THROUGH_RECORDS || next.loggedAtMs <= untilMs;

interface Reading {
  readonly log: LogReader;
  readonly fact: LocatedFact;
  readonly run: Run;
  /** Those whose fact lies where it was said to lie. */
  readonly found: Set<string>;
  readonly take: (record: LogRecord) => void;
}

/** Resolves to the first offset that was there; `null` where nothing was. */
async function readRun(
  { log, fact, run, found, take }: Reading,
  signal: AbortSignal,
): Promise<bigint | null> {
  const { partition, places, untilMs } = run;
  const byKey = new Map(places.map((place) => [place.key, place]));
  const [first, last] = [places[0]?.offset ?? 0n, places.at(-1)?.offset ?? 0n];
  const to = untilMs === 0 ? { before: last + 1n } : 'end';
  const request = { topic: TOPICS[fact].name, partition, from: { offset: first }, to } as const;
  let oldest: bigint | null = null;
  for await (const event of log.read(request, signal)) {
    if (event.kind !== 'record') continue;
    const { record } = event;
    oldest ??= record.offset;
    if (record.offset > last && record.timestampMs > untilMs) break;
    const place = byKey.get(record.key ?? '');
    if (place === undefined) continue;
    if (record.offset === place.offset && isAt(place, record)) found.add(place.key);
    if (record.offset >= place.offset && found.has(place.key)) take(record);
  }
  return oldest;
}

const isAt = ({ loggedAtMs, sha256 }: Place, { value, timestampMs }: LogRecord): boolean =>
  value !== null && timestampMs === loggedAtMs && valueSha256(value) === sha256;

/**
 * Whose word counts for who asks with roots. A position without a signature counts as a fact without one does, and leads to a fact or to
 * nothing; one that claims a signature has to have a true one.
 */
export async function believedPositions(
  roots: TrustRoots | null,
  log: LogReader,
  signal: AbortSignal,
): Promise<IsBelieved> {
  const trust = await recordedTrust(roots, log, signal);
  return (topic, record) =>
    topic !== 'latestFacts' ||
    trust === null ||
    claimedSignature(record.headers).kind === 'none' ||
    trust.authenticate(topic, record).ok;
}
