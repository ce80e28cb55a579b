import type { Logger } from 'pino';
import { type DeadLetter, DeadLetterCause } from '../../../schemas/events/dead-letter.ts';
import { deriveId } from '../../canonical/ids.ts';
import type { LogRecord, OutgoingRecord } from '../../event-log/port.ts';
import type { FleetGcError } from '../../process/errors.ts';
import type { Metrics } from '../../process/metrics.ts';
import { nextHop } from '../../process/trace.ts';
import { keyOf } from '../parse/record-key.ts';
import { isTooLarge, type Publisher } from '../publisher.ts';
import { createDeadLetterRateLimit, type Place } from './dead-letter-rate-limit.ts';

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
   * Keeps each message as a dead letter, or counts it when its key has had 10 in this minute. Resolves when those kept
   * are acknowledged; rejects when they are not, and then nothing counts as kept.
   */
  write(failed: readonly FailedMessage[]): Promise<void>;
}

export interface DeadLettersSettings {
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
    'Messages given up on and only counted, since their key had too many dead letters.',
    labels,
  );
  const reportAndCount = ({ message, place }: Placed): void => {
    (place.kept ? kept : suppressed).add({ cause: message.cause });
    if (place.kept) report(logger, message);
  };
  return {
    write: async (failed) => {
      const placed = failed.map((message) => ({
        message,
        place: rateLimit.take(message.limitedAs ?? message.record.key ?? '', now()),
      }));
      try {
        await publishAll(
          placed.flatMap((each) => toLetter(each, group) ?? []),
          publisher,
        );
      } catch (error) {
        for (const { place } of placed) place.undo();
        throw error;
      }
      placed.forEach(reportAndCount);
    },
  };
}

interface Placed {
  readonly message: FailedMessage;
  readonly place: Place;
}

const toLetter = ({ message, place }: Placed, group: string): DeadLetter | null =>
  place.kept ? deadLetter(message, group, place.suppressedBefore) : null;

/** As often as there are dead letters, so a flood does not fill the log either. */
function report(logger: Logger, { record, cause, message, error }: FailedMessage): void {
  const { topic, partition, offset, key } = record;
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

/** A message that is too large to be wrapped in another is kept without its value, which lies at its position. */
async function publishOne(letter: DeadLetter, publisher: Publisher): Promise<void> {
  try {
    await publisher.send(envelope(letter, publisher));
  } catch (error) {
    if (!isTooLarge(error) || letter.value === null) throw error;
    const omittedBytes = Buffer.byteLength(letter.value, 'base64');
    await publisher.send(envelope({ ...letter, value: null, omittedBytes }, publisher));
  }
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
 */
export const MAX_LETTER_VALUE_BYTES = 4 * 1024 * 1024;

const keptValue = (value: Buffer | null): Pick<DeadLetter, 'value' | 'omittedBytes'> =>
  value !== null && value.length > MAX_LETTER_VALUE_BYTES
    ? { value: null, omittedBytes: value.length }
    : { value: value?.toString('base64') ?? null, omittedBytes: 0 };
