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
import { trustThen } from '../records/read-heads.ts';
import { firstRecord } from '../records/read-log.ts';
import { readKeys } from '../records/trust/key-source.ts';
import { claimedSignature } from '../records/trust/signature.ts';
import { beside, partitionsOf, scan } from './scan.ts';
import { positionTrust } from './trust.ts';

/** Of so many silent nodes or clusters the exact last moment is looked up. */
const MOST_DATED = 30;
/**
 * From its position a fact is followed for so long: the next position is due after five minutes, and one that somebody put back is no older
 * than `MOST_LATE_MS`.
 */
const READ_ON_MS = MOST_LATE_MS + MINUTE_MS;
/** Places that lie no further apart are read in one go. */
const READ_THROUGH_RECORDS = 200n;
/**
 * Each look is a reading of its own.
 * @limit Silent nodes or clusters whose last report is looked up: those that fell silent last.
 */
const MOST_LOOKED_UP = 1_000;
/**
 * Anybody who may write to the topic can make up names.
 * @limit Nodes or clusters of which positions are read.
 */
const MOST_SUBJECTS = 50_000;
/** What is said of one subject: where the first place is not true, the next one is tried. */
const MOST_PLACES = 4;

/** A node or cluster of which the log says that it was there, and of which no more is known. */
export interface UnlocatedSubject {
  readonly key: string;
  /**
   * `position-refused`: the position is not true. `fact-not-kept`: the fact is not on the log any more. `not-looked-up`: too many others
   * fell silent later.
   */
  readonly kind: 'position-refused' | 'fact-not-kept' | 'not-looked-up';
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
  asked: AskedFacts,
  take: (record: LogRecord) => void,
  signal: AbortSignal,
): Promise<readonly UnlocatedSubject[]> {
  const { log, fact } = asked;
  // 1. What is said of where facts lie: of each subject the newest place first.
  const positions = await readPositions(asked, signal);
  const said = positions.places();
  const [lookedUp, others] = [said.slice(0, MOST_LOOKED_UP), said.slice(MOST_LOOKED_UP)];
  // 2. Whether it lies there. A place that is not true costs one look, and leads to the next one.
  const found = new Map<string, Place>();
  for (let round = 0; round < MOST_PLACES; round += 1) {
    const tried = lookedUp.flatMap(([key, places]) => (found.has(key) ? [] : (places[round] ?? [])));
    await beside(runsOf(tried), async (run) => {
      await readRun({ log, fact, run }, signal, (place, record) => {
        if (found.has(place.key)) return;
        found.set(place.key, place);
        take(record);
      });
    });
  }
  // 3. What came after it, of those that fell silent last. These places are true, and so are their times.
  const dated = newestFirst([...found.values()]).slice(0, MOST_DATED);
  await beside(spansOf(dated), (span) => readOn({ log, fact, span }, take, signal));
  // 4. Those of which nothing was found.
  const missing = lookedUp.flatMap(([key, [place]]) => (found.has(key) || place === undefined ? [] : place));
  const oldestMs = await oldestOf(
    { log, fact, partitions: new Set(missing.map((each) => each.partition)) },
    signal,
  );
  return [
    ...positions.refused(),
    ...missing.map((place) => unlocated(place, oldestMs.get(place.partition) ?? null)),
    ...others.flatMap(([key, [place]]) => (place === undefined ? [] : notLookedUp(key, place))),
  ];
}

async function readPositions(
  { log, fact, fromMs, isKnown, isBelieved }: AskedFacts,
  signal: AbortSignal,
): Promise<Positions> {
  const positions = new Positions(fromMs, isBelieved);
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
  return positions;
}

interface Place {
  readonly key: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly loggedAtMs: number;
  readonly sha256: string;
  readonly isSigned: boolean;
}

const newestFirst = (places: readonly Place[]): readonly Place[] =>
  places.toSorted((a, b) => b.loggedAtMs - a.loggedAtMs);

/** What the log says of where facts lie. */
class Positions {
  readonly #fromMs: number;
  readonly #isBelieved: IsBelieved;
  /** By key: signed ones first, and the newest of them first. */
  readonly #places = new Map<string, readonly Place[]>();
  readonly #refused = new Map<string, string>();

  constructor(fromMs: number, isBelieved: IsBelieved) {
    this.#fromMs = fromMs;
    this.#isBelieved = isBelieved;
  }

  note(key: string, record: LogRecord): void {
    const isNew = !this.#places.has(key) && !this.#refused.has(key);
    if (isNew && this.#places.size + this.#refused.size >= MOST_SUBJECTS) return;
    const judged = judgeLatestFact(record);
    if (!judged.ok) this.#refused.set(key, judged.why);
    else if (!this.#isBelieved('latestFacts', record))
      this.#refused.set(key, 'no key of its subject signed it');
    else if (judged.latest.loggedAtMs >= this.#fromMs) this.#place(placeIn(key, judged.latest, record));
  }

  /** What somebody writes after a true position hides it only with as many signatures of its key. */
  #place(place: Place): void {
    const places = [...(this.#places.get(place.key) ?? []), place];
    const inOrder = places.toSorted(
      (a, b) => Number(b.isSigned) - Number(a.isSigned) || b.loggedAtMs - a.loggedAtMs,
    );
    this.#places.set(place.key, inOrder.slice(0, MOST_PLACES));
  }

  /** Those of which the newest is said come first. */
  places(): readonly (readonly [key: string, places: readonly Place[]])[] {
    return [...this.#places].toSorted(([, [a]], [, [b]]) => (b?.loggedAtMs ?? 0) - (a?.loggedAtMs ?? 0));
  }

  *refused(): Generator<UnlocatedSubject> {
    for (const [key, why] of this.#refused)
      if (!this.#places.has(key)) yield { key, kind: 'position-refused', heardMs: null, why };
  }
}

const placeIn = (
  key: string,
  { partition, offset, loggedAtMs, sha256 }: LatestFact,
  { headers }: LogRecord,
): Place => ({
  key,
  partition,
  offset: BigInt(offset),
  loggedAtMs,
  sha256,
  isSigned: claimedSignature(headers).kind === 'claimed',
});

/** Places of one partition that lie near each other, in the order of the log. */
interface Run {
  readonly partition: number;
  readonly places: readonly Place[];
}

/** What a place says besides is not true yet: only how far it lies from the last one joins them. */
const runsOf = (places: readonly Place[]): readonly Run[] =>
  joined(places, (last, next) => next.offset - last.offset <= READ_THROUGH_RECORDS);

/** True places of one partition of which one is read on from until the next one comes. */
const spansOf = (places: readonly Place[]): readonly Run[] =>
  joined(places, (last, next) => next.loggedAtMs <= last.loggedAtMs + READ_ON_MS);

function joined(places: readonly Place[], isNear: (last: Place, next: Place) => boolean): readonly Run[] {
  const runs: { readonly partition: number; readonly places: Place[] }[] = [];
  for (const [partition, those] of Map.groupBy(places, (place) => place.partition))
    for (const place of those.toSorted((a, b) => (a.offset < b.offset ? -1 : 1))) {
      const run = runs.at(-1);
      const last = run?.partition === partition ? run.places.at(-1) : undefined;
      if (run !== undefined && last !== undefined && isNear(last, place)) run.places.push(place);
      else runs.push({ partition, places: [place] });
    }
  return runs;
}

interface ReadRun {
  readonly log: LogReader;
  readonly fact: LocatedFact;
  readonly run: Run;
}

/** Gives each fact that lies where it was said to lie to `found`. */
async function readRun(
  { log, fact, run: { partition, places } }: ReadRun,
  signal: AbortSignal,
  found: (place: Place, record: LogRecord) => void,
): Promise<void> {
  const [first, last] = [places[0]?.offset ?? 0n, places.at(-1)?.offset ?? 0n];
  const byOffset = Map.groupBy(places, ({ offset }) => offset);
  const to = { before: last + 1n };
  const request = { topic: TOPICS[fact].name, partition, from: { offset: first }, to } as const;
  for await (const event of log.read(request, signal)) {
    if (event.kind !== 'record') continue;
    const { record } = event;
    if (record.offset > last) break;
    for (const place of byOffset.get(record.offset) ?? []) if (isAt(place, record)) found(place, record);
  }
}

const isAt = ({ key, loggedAtMs, sha256 }: Place, record: LogRecord): boolean =>
  record.key === key &&
  record.value !== null &&
  record.timestampMs === loggedAtMs &&
  valueSha256(record.value) === sha256;

interface ReadOn {
  readonly log: LogReader;
  readonly fact: LocatedFact;
  readonly span: Run;
}

/** Gives what the subjects of these places said after them to `take`. */
async function readOn(
  { log, fact, span: { partition, places } }: ReadOn,
  take: (record: LogRecord) => void,
  signal: AbortSignal,
): Promise<void> {
  const [first] = places;
  if (first === undefined) return;
  const untilMs = Math.max(...places.map(({ loggedAtMs }) => loggedAtMs)) + READ_ON_MS;
  const byKey = new Map(places.map((place) => [place.key, place]));
  const request = { topic: TOPICS[fact].name, partition, from: { offset: first.offset }, to: 'end' } as const;
  for await (const event of log.read(request, signal)) {
    if (event.kind !== 'record') continue;
    const { record } = event;
    if (record.timestampMs > untilMs) break;
    const place = byKey.get(record.key ?? '');
    if (place !== undefined && record.offset > place.offset) take(record);
  }
}

interface Partitions {
  readonly log: LogReader;
  readonly fact: LocatedFact;
  readonly partitions: ReadonlySet<number>;
}

/** When the log took the oldest record that each of them still has: epoch milliseconds. Those without records are left out. */
async function oldestOf(
  { log, fact, partitions }: Partitions,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, number>> {
  const oldestMs = new Map<number, number>();
  await beside([...partitions], async (partition) => {
    const request = { topic: TOPICS[fact].name, partition, from: 'earliest' } as const;
    const record = await firstRecord(log, request, signal);
    if (record !== null) oldestMs.set(partition, record.timestampMs);
  });
  return oldestMs;
}

/** `oldestMs`: when the log took the oldest fact that the partition still has; `null` where it has none. */
function unlocated({ key, loggedAtMs }: Place, oldestMs: number | null): UnlocatedSubject {
  if (oldestMs !== null && loggedAtMs >= oldestMs)
    return { key, kind: 'position-refused', heardMs: null, why: 'another record lies there, or none' };
  return {
    key,
    kind: 'fact-not-kept',
    // Where nothing is left, nothing says that there was something at that time.
    heardMs: oldestMs === null ? null : loggedAtMs,
    why: 'the fact is not on the event log any more',
  };
}

const notLookedUp = (key: string, { loggedAtMs }: Place): UnlocatedSubject => ({
  key,
  kind: 'not-looked-up',
  heardMs: loggedAtMs,
  why: `${MOST_LOOKED_UP} others fell silent later`,
});

/** Whose word counts for who asks with roots: see `positionTrust`. */
export async function believedPositions(
  roots: TrustRoots | null,
  log: LogReader,
  signal: AbortSignal,
): Promise<IsBelieved> {
  if (roots === null) return () => true;
  const { ring } = await readKeys(log, roots, signal);
  const isTrue = positionTrust(ring, trustThen(ring));
  return (topic, record) => topic !== 'latestFacts' || isTrue(record);
}
