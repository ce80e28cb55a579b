import type { DeadLetter, DeadLetterRedrive } from '../../../schemas/events/dead-letter.ts';
import { isOffsetText } from '../../../schemas/events/offset-text.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import { TOPICS, type TopicId, type TopicName } from '../../../schemas/events/topics.ts';
import { sha256Hex } from '../../canonical/ids.ts';
import { TOPIC_NAMES, topicSpec } from '../../log/partition.ts';
import type { EventLog, LogRecord, OutgoingRecord, ReadFrom } from '../../log/port.ts';
import { FleetGcError } from '../../process/errors.ts';
import { topicIdOf } from '../../records/parse/event-schemas.ts';
import { parseRecord } from '../../records/parse/parse-record.ts';

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
type Original =
  | { readonly ok: true; readonly record: OutgoingRecord }
  | { readonly ok: false; readonly reason: string };

/**
 * Facts about nodes and clusters go back: whoever reads them judges them anew. An order is never put back, since a letter may be anybody's and
 * an old order asks for what nobody may want any more; an old policy would replace the one that holds now. Nobody acts on decisions, so
 * that no true letter holds one, and twice on the log one bears a number that was signed for another place.
 */
const GOES_BACK: Readonly<Record<TopicId, boolean>> = {
  diskStats: true,
  inventory: true,
  observe: false,
  commands: false,
  results: true,
  decisions: false,
  clusterOwnership: true,
  clusterPods: true,
  clusterExpiry: true,
  clusterCommands: false,
  // Nobody acts on it either.
  clusterRemoved: false,
  clusterResults: true,
  clusterDecisions: false,
  clusterCensus: true,
  policies: false,
  policyVersions: false,
  keys: false,
  heads: false,
  deadLetters: false,
};

export const goesBack = (topic: TopicId): boolean => GOES_BACK[topic];

const REDRIVABLE: ReadonlyMap<string, TopicName> = new Map(
  TOPIC_NAMES.filter((name) => goesBack(topicIdOf(name))).map((name) => [name, name]),
);

/** What would go back, by the letter alone: whoever may write dead letters may write anything into one. */
export function originalRecord(letter: DeadLetter): Original {
  const topic = REDRIVABLE.get(letter.topic);
  const key = originalKey(letter);
  const value = originalValue(letter);
  if (topic === undefined)
    return {
      ok: false,
      reason: `messages of ${letter.topic} are not put back, only facts about nodes and clusters are`,
    };
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
  partition < topicSpec(topic).partitions && isOffsetText(offset);

/** A dead letter as it lies on the log. */
export interface StoredLetter {
  /** Where only summaries were asked for, without value and headers. */
  readonly letter: DeadLetter;
  /** Size of the value of its message. */
  readonly valueBytes: number;
  /** Epoch milliseconds, by the log's clock: when a consumer gave the message up. */
  readonly diedAtMs: number;
  /** When its message was put back; null when it was not. */
  readonly redrivenAtMs: number | null;
}

export interface StoredLetters {
  /** Oldest first. Several with one id: at most one of them is genuine. */
  readonly letters: readonly StoredLetter[];
  /** Records of the topic that are no dead letters. */
  readonly unreadable: number;
}

/** Of which letters something is kept, and what of them. */
interface Wanted {
  readonly has: (id: string) => boolean;
  /** How much they may hold together. */
  readonly mostBytes: number;
  readonly keeps: 'whole' | 'summary';
}

const ALL: Wanted = { has: () => true, mostBytes: Number.POSITIVE_INFINITY, keeps: 'whole' };
/** Somebody waits for them, in a process that does other things as well. */
const MOST_NAMED_BYTES = 64 * 1024 * 1024;

/** Those with these ids, in the order of the ids; of the others nothing is kept. Throws `NOT_FOUND`, and `REDRIVE_REFUSED` where they hold too much. */
export async function readLettersNamed(
  log: Pick<EventLog, 'read'>,
  ids: readonly string[],
  signal: AbortSignal,
  mostBytes = MOST_NAMED_BYTES,
): Promise<readonly StoredLetter[]> {
  const named = new Set(ids);
  const wanted: Wanted = { has: (id) => named.has(id), mostBytes, keeps: 'whole' };
  const { letters } = await readStoredLetters(log, 'earliest', signal, wanted);
  const byId = Map.groupBy(letters, ({ letter }) => letter.id);
  return [...named].flatMap((id) => byId.get(id) ?? findLetters([], id));
}

/** Those whose ids begin with one of these; of the others nothing is kept. */
export const readLettersBeginning = (
  log: Pick<EventLog, 'read'>,
  beginnings: readonly string[],
  signal: AbortSignal,
): Promise<StoredLetters> =>
  readStoredLetters(log, 'earliest', signal, {
    ...ALL,
    has: (id) => beginnings.some((beginning) => id.startsWith(beginning)),
  });

/** All of them, without what their messages held: there may be very many, of 4 MiB each. */
export const readLetterSummaries = (
  log: Pick<EventLog, 'read'>,
  from: ReadFrom,
  signal: AbortSignal,
): Promise<StoredLetters> => readStoredLetters(log, from, signal, { ...ALL, keeps: 'summary' });

/** Reads the topic to its end, without a group. */
export async function readStoredLetters(
  log: Pick<EventLog, 'read'>,
  from: ReadFrom,
  signal: AbortSignal,
  wanted = ALL,
): Promise<StoredLetters> {
  const found = new FoundLetters(wanted);
  for await (const event of log.read({ topic: TOPICS.deadLetters.name, from, to: 'end' }, signal))
    if (event.kind === 'record') found.add(event.record);
  return found.stored();
}

type Died = Omit<StoredLetter, 'redrivenAtMs'>;

/** What the topic tells of letters, whatever comes first: a letter, or the note that its message was put back. */
class FoundLetters {
  readonly #wanted: Wanted;
  /** By id and the position of the message, and then by its content: an account that may write dead letters can reuse an id. */
  readonly #died = new Map<string, Map<string, Died>>();
  readonly #redrivenAtMs = new Map<string, number>();
  #unreadable = 0;
  #bytes = 0;

  constructor(wanted: Wanted) {
    this.#wanted = wanted;
  }

  add(record: LogRecord): void {
    const parsed = parseRecord('deadLetters', record);
    if (!parsed.ok) this.#unreadable += 1;
    else if (parsed.event.type === 'fleetgc.dead-letter-redrive')
      this.#addRedrive(parsed.event, record.timestampMs);
    else this.#addLetter(parsed.event, record.timestampMs);
  }

  stored(): StoredLetters {
    const letters = [...this.#died.values()].flatMap((ofPlace) =>
      [...ofPlace.values()].map((died) => ({
        ...died,
        redrivenAtMs: this.#redrivenAtMs.get(died.letter.id) ?? null,
      })),
    );
    return { letters: letters.toSorted(byTime), unreadable: this.#unreadable };
  }

  #addRedrive({ deadLetterId }: DeadLetterRedrive, atMs: number): void {
    if (this.#wanted.has(deadLetterId)) this.#redrivenAtMs.set(deadLetterId, atMs);
  }

  #addLetter(letter: DeadLetter, diedAtMs: number): void {
    const { has, mostBytes, keeps } = this.#wanted;
    const { id, topic, partition, offset, key, value } = letter;
    if (!has(id)) return;
    const place = JSON.stringify([id, topic, partition, offset, key]);
    const ofPlace = this.#died.get(place) ?? new Map<string, Died>();
    // A message that came twice may have been kept without its value once.
    if (value === null && ofPlace.size > 0 && !ofPlace.has(WITHOUT_VALUE)) return;
    if (value !== null) ofPlace.delete(WITHOUT_VALUE);
    const content = value === null ? WITHOUT_VALUE : contentOf(letter);
    if (!ofPlace.has(content)) this.#bytes += value?.length ?? 0;
    if (this.#bytes > mostBytes) throw tooLarge(mostBytes);
    const valueBytes = originalValue(letter)?.length ?? letter.omittedBytes;
    const kept = keeps === 'whole' ? letter : { ...letter, value: null, headers: {} };
    this.#died.set(place, ofPlace.set(content, { letter: kept, valueBytes, diedAtMs }));
  }
}

const WITHOUT_VALUE = '';

const contentOf = ({ value, headers }: DeadLetter): string =>
  sha256Hex(JSON.stringify([value, Object.entries(headers).toSorted()]));

const tooLarge = (mostBytes: number): FleetGcError =>
  new FleetGcError(
    'REDRIVE_REFUSED',
    `these dead letters hold more than ${mostBytes} bytes together: put back fewer at once`,
  );

const byTime = (a: StoredLetter, b: StoredLetter): number =>
  a.diedAtMs - b.diedAtMs || compareText(a.letter.id, b.letter.id);

/** Conditions on dead letters; all that are given must hold. */
export interface LetterFilter {
  readonly topic?: string | undefined;
  readonly cause?: string | undefined;
  readonly group?: string | undefined;
  /** Whole, e.g. `prod/web-1`. */
  readonly key?: string | undefined;
  /** Also those whose message was put back already. */
  readonly redriven: boolean;
}

export const filterLetters = (
  letters: readonly StoredLetter[],
  { topic, cause, group, key, redriven }: LetterFilter,
): readonly StoredLetter[] =>
  letters.filter(
    ({ letter, redrivenAtMs }) =>
      (topic === undefined || letter.topic === topic) &&
      (cause === undefined || letter.cause === cause) &&
      (group === undefined || letter.group === group) &&
      (key === undefined || originalKey(letter) === key) &&
      (redriven || redrivenAtMs === null),
  );

/** Those with this id, or with the only one that begins so: several if forged ones reuse the id. Throws `NOT_FOUND`. */
export function findLetters(letters: readonly StoredLetter[], id: string): readonly StoredLetter[] {
  const exact = letters.filter(({ letter }) => letter.id === id);
  const found = exact.length > 0 ? exact : letters.filter(({ letter }) => letter.id.startsWith(id));
  const ids = new Set(found.map(({ letter }) => letter.id));
  if (ids.size === 0) throw new FleetGcError('NOT_FOUND', `there is no dead letter ${id}`);
  if (ids.size > 1)
    throw new FleetGcError('NOT_FOUND', `${ids.size} dead letters begin with ${id}; write more of it`);
  return found;
}
