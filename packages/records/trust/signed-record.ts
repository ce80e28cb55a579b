import { z } from 'zod';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { OutgoingRecord } from '../../log/port.ts';
import { FleetGcError } from '../../process/errors.ts';

/** A statement on its way from a machine without a network: one line of JSON. */
const SignedStatement = z.strictObject({
  topic: z.literal(TOPICS.keys.name),
  key: z.string(),
  headers: z.record(z.string(), z.string()),
  /** The signed bytes. */
  valueBase64: z.base64(),
});

const MAX_LINE_LENGTH = 2 * TOPICS.keys.bounds.bytes;

export const signedRecordText = ({ topic, key, headers, value }: OutgoingRecord): string =>
  JSON.stringify({ topic, key, headers, valueBase64: value?.toString('base64') ?? '' });

/** What `signedRecordText` wrote. Throws `KEY_UNUSABLE`; `where` says which file and line the text is from. */
export function readSignedRecord(line: string, where: string): OutgoingRecord {
  const { data } = SignedStatement.safeParse(line.length > MAX_LINE_LENGTH ? null : jsonIn(line));
  if (data === undefined)
    throw new FleetGcError(
      'KEY_UNUSABLE',
      `${where} is no signed statement; "keys certify --offline" and "keys revoke --offline" write such lines`,
    );
  const { valueBase64, ...record } = data;
  return { ...record, value: Buffer.from(valueBase64, 'base64') };
}

function jsonIn(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
