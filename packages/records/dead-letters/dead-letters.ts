import type { Logger } from 'pino';
import { type DeadLetter, DeadLetterCause } from '../../../schemas/events/dead-letter.ts';
import { deriveId, sha256Hex } from '../../canonical/ids.ts';
import type { LogRecord, OutgoingRecord } from '../../log/port.ts';
import { MINUTE_MS } from '../../process/durations.ts';
import type { FleetGcError } from '../../process/errors.ts';
import type { Metrics } from '../../process/metrics.ts';
import { nextHop } from '../../process/trace.ts';
import { keyOf } from '../parse/record-key.ts';
import { isTooLarge, type Publisher } from '../publisher.ts';

/** A message that cannot be processed, and why. */
export interface FailedMessage {
  readonly record: LogRecord;
  readonly cause: DeadLetterCause;
  /** A sentence for people. */
  readonly message: string;
  /** What a handler threw. */
  readonly error?: FleetGcError;
  /** Counts against this key's limit instead of its own, which somebody made up. */
  readonly limitedAs?: string;
}

export interface DeadLetters {
  /**
   * Keeps each message as a dead letter. Of a key that has had 10 in this minute, the last of these messages is kept
   * without its value, with the number of those before it, so that each is on the log, whenever this process ends.
   * Resolves when those kept are acknowledged; rejects when they are not, and then nothing counts as kept.
   */
  write(failed: readonly FailedMessage[]): Promise<void>;
}

interface DeadLettersSettings {
  readonly publisher: Publisher;
  /** The consumer group that gives the messages up. */
  readonly group: string;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Milliseconds of a clock that does not jump. */
  readonly now: () => number;
}

export function createDeadLetters(settings: DeadLettersSettings): DeadLetters {
  const { publisher, group, metrics, logger, now } = settings;
  const rateLimit = createDeadLetterRateLimit();
  const labels = { cause: DeadLetterCause.options };
  const kept = metrics.count('dead_letters_total', 'Messages kept as dead letters.', labels);
  const suppressed = metrics.count(
    'dead_letters_suppressed_total',
    'Messages given up on without a dead letter of their own, since their key had ten in a minute: a later one counts them.',
    labels,
  );
  const count = ({ message, letter }: Placed): void =>
    (letter === null ? suppressed : kept).add({ cause: message.cause });
  return {
    write: async (failed) => {
      const places = failed.map((message) => rateLimit.take(limitKeyOf(message), now()));
      const placed = lettersOf(failed, places, group);
      try {
        await publishAll(
          placed.flatMap(({ letter }) => letter ?? []),
          publisher,
        );
      } catch (error) {
        for (const place of places) place.undo();
        throw error;
      }
      placed.forEach(count);
      for (const [i, message] of failed.entries()) if (places[i]?.kept) report(logger, message);
    },
  };
}

const limitKeyOf = ({ limitedAs, record }: FailedMessage): string => nameOfKey(limitedAs ?? record.key ?? '');

/** Keys are remembered and logged: one that is as large as a record is known by its hash. */
const nameOfKey = (key: string): string =>
  key.length <= MAX_CUT_LETTER_TEXT ? key : `sha256:${sha256Hex(key)}`;

interface Placed {
  readonly message: FailedMessage;
  /** `null`: counted in a letter that follows. */
  readonly letter: DeadLetter | null;
}

function lettersOf(
  failed: readonly FailedMessage[],
  places: readonly Place[],
  group: string,
): readonly Placed[] {
  const isWhole = (i: number): boolean => places[i]?.kept === true;
  const waiting = Map.groupBy(
    failed.filter((_, i) => !isWhole(i)),
    limitKeyOf,
  );
  return failed.map((message, i) => {
    if (isWhole(i)) return { message, letter: deadLetter(message, group, 0) };
    const ofKey = waiting.get(limitKeyOf(message)) ?? [];
    const isLast = message === ofKey.at(-1);
    return { message, letter: isLast ? withoutValue(deadLetter(message, group, ofKey.length - 1)) : null };
  });
}

/** As often as there are whole dead letters, so a flood does not fill the log either. */
function report(logger: Logger, { record, cause, message, error }: FailedMessage): void {
  const { topic, partition, offset } = record;
  const key = record.key === null ? null : nameOfKey(record.key);
  const fields = { topic, partition, offset: String(offset), key, cause };
  if (error) logger.error({ ...fields, err: error.cause ?? error }, `dead letter: ${message}`);
  else logger.warn(fields, `dead letter: ${message}`);
}

const envelope = (letter: DeadLetter, { ids, records }: Publisher): readonly OutgoingRecord[] =>
  records(
    [{ topic: 'deadLetters', key: keyOf('deadLetters', letter), event: letter }],
    nextHop(letter.headers, ids),
  );

async function publishAll(letters: readonly DeadLetter[], publisher: Publisher): Promise<void> {
  try {
    await publisher.send(letters.flatMap((letter) => envelope(letter, publisher)));
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    for (const letter of letters) await publishOne(letter, publisher);
  }
}

/**
 * A message that is too large to be wrapped in another is kept without its value, and where key or headers alone are too large,
 * without those: they lie at its position, and giving up must succeed, or the partition stands still.
 */
async function publishOne(letter: DeadLetter, publisher: Publisher): Promise<void> {
  for (const kept of new Set([letter, withoutValue(letter)]))
    try {
      return await publisher.send(envelope(kept, publisher));
    } catch (error) {
      if (!isTooLarge(error)) throw error;
    }
  await publisher.send(envelope(withoutKeyAndHeaders(withoutValue(letter)), publisher));
}

const withoutValue = (letter: DeadLetter): DeadLetter =>
  letter.value === null
    ? letter
    : { ...letter, value: null, omittedBytes: Buffer.byteLength(letter.value, 'base64') };

/** @limit Size of a key that a dead letter keeps when it is too large otherwise, and length of its sentence then. */
export const MAX_CUT_LETTER_TEXT = 1024;

/** With a hash in the place of a long key, so that the letters of one key stay together. */
function withoutKeyAndHeaders(letter: DeadLetter): DeadLetter {
  const key = letter.key === null ? null : Buffer.from(letter.key, 'base64');
  const isLong = key !== null && key.length > MAX_CUT_LETTER_TEXT;
  const headers = JSON.stringify(letter.headers);
  const cut = [
    isLong ? `key (${key.length} bytes, sha256 ${sha256Hex(key)})` : [],
    `headers (${Buffer.byteLength(headers)} bytes, sha256 ${sha256Hex(headers)})`,
  ].flat();
  return {
    ...letter,
    message: `${letter.message.slice(0, MAX_CUT_LETTER_TEXT).toWellFormed()}. Too large to be kept here: ${cut.join(' and ')}`,
    key: isLong ? Buffer.from(`sha256:${sha256Hex(key)}`).toString('base64') : letter.key,
    headers: {},
  };
}

/** The id follows from the position, so that a repetition can be told from a second failure. */
function deadLetter(
  { record, cause, message }: FailedMessage,
  group: string,
  suppressedBefore: number,
): DeadLetter {
  const { topic, partition, offset, timestampMs, key, value, headers } = record;
  return {
    type: 'fleetgc.dead-letter',
    version: 1,
    id: deriveId('dead-letter', group, topic, String(partition), String(offset)),
    cause,
    message,
    group,
    topic,
    partition,
    offset: String(offset),
    timestampMs,
    key: key === null ? null : Buffer.from(key).toString('base64'),
    ...keptValue(value),
    headers: { ...headers },
    suppressedBefore,
  };
}

/**
 * Larger values are not kept a second time: they lie at their position, and what is small compressed would be a bomb for every reader
 * of dead letters too.
 * @limit Size of a value that a dead letter keeps.
 */
export const MAX_LETTER_VALUE_BYTES = 4 * 1024 * 1024;

const keptValue = (value: Buffer | null): Pick<DeadLetter, 'value' | 'omittedBytes'> =>
  value !== null && value.length > MAX_LETTER_VALUE_BYTES
    ? { value: null, omittedBytes: value.length }
    : { value: value?.toString('base64') ?? null, omittedBytes: 0 };

/** @limit Dead letters per key and minute. More are counted only. */
export const DEAD_LETTERS_PER_MINUTE = 10;
/** Keys are given by whoever publishes: the memory for them is bounded, and those not seen for longest go first. */
const MAX_KEYS = 10_000;

/** Whether there is room for the dead letter of one message. `undo` is for when it could not be written. */
interface Place {
  readonly kept: boolean;
  undo(): void;
}

interface DeadLetterRateLimit {
  take(key: string, nowMs: number): Place;
}

export function createDeadLetterRateLimit(): DeadLetterRateLimit {
  const keptAtMs = new Map<string, readonly number[]>();
  return {
    take: (key, nowMs) => {
      const recent = (keptAtMs.get(key) ?? []).filter((atMs) => nowMs - atMs < MINUTE_MS);
      const kept = recent.length < DEAD_LETTERS_PER_MINUTE;
      keptAtMs.delete(key);
      keptAtMs.set(key, kept ? [...recent, nowMs] : recent);
      forgetOldest(keptAtMs);
      const undo = (): void => {
        const taken = keptAtMs.get(key) ?? [];
        if (kept) keptAtMs.set(key, taken.toSpliced(taken.lastIndexOf(nowMs), 1));
      };
      return { kept, undo };
    },
  };
}

function forgetOldest(keys: Map<string, unknown>): void {
  const [oldest] = keys.keys();
  if (keys.size > MAX_KEYS && oldest !== undefined) keys.delete(oldest);
}
