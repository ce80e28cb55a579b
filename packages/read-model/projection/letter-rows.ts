import type { DeadLetter, DeadLetterRedrive } from '../../../schemas/events/dead-letter.ts';
import type { LogRecord } from '../../log/port.ts';
import { boundedText } from './bounded-text.ts';
import type { LetterRow, RedriveRow } from './rows.ts';

type Place = Pick<LogRecord, 'timestampMs' | 'offset' | 'partition'>;

/** What a record of `gc.dead-letters` says. */
export function letterRow(
  event: DeadLetter | DeadLetterRedrive,
  { timestampMs: atMs, offset, partition }: Place,
): LetterRow | RedriveRow {
  const place = { atMs, offset, partition };
  if (event.type === 'fleetgc.dead-letter-redrive') {
    const { deadLetterId, by = null, reason = '' } = event;
    const said = { by: by === null ? null : boundedText(by), reason: boundedText(reason) };
    return { table: 'redrives', ...place, letter: deadLetterId, ...said };
  }
  const { id, cause, message, group, topic, key, value, omittedBytes, suppressedBefore } = event;
  return {
    table: 'letters',
    ...place,
    id,
    cause,
    message: boundedText(message),
    group: boundedText(group),
    topic: boundedText(topic),
    key: key === null ? null : boundedText(Buffer.from(key, 'base64').toString('utf8')),
    valueBytes: value === null ? omittedBytes : Buffer.from(value, 'base64').length,
    suppressedBefore,
  };
}
