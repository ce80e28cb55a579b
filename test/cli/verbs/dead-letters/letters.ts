import { partitionOf } from '../../../../packages/log/partition.ts';
import type { EventLog } from '../../../../packages/log/port.ts';
import { keyOf } from '../../../../packages/records/parse/record-key.ts';
import type { DeadLetter } from '../../../../schemas/events/dead-letter.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { readTopic } from '../../read-topic.ts';

export const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A message of node prod/web-1 that image-gc could not read. */
export const deadLetter = (overrides: Partial<DeadLetter> = {}): DeadLetter => ({
  type: 'fleetgc.dead-letter',
  version: 1,
  id: 'dead-letter-aaaa1',
  cause: 'wrong-schema',
  message: 'takenAt: Required',
  group: 'image-gc',
  topic: TOPICS.inventory.name,
  partition: 3,
  offset: '17',
  timestampMs: Date.UTC(2026, 0, 1),
  key: base64('prod/web-1'),
  value: base64('{"half":"an inventory"}'),
  headers: { ce_id: 'inventory-1', traceparent: '00-1' },
  omittedBytes: 0,
  suppressedBefore: 0,
  ...overrides,
});

export const bury = (log: EventLog, ...letters: readonly DeadLetter[]): Promise<unknown> =>
  log.publish(
    letters.map((event) => outgoing({ topic: 'deadLetters', key: keyOf('deadLetters', event), event })),
  );

export const KEY = 'prod/web-1';
export const PARTITION = partitionOf(TOPICS.inventory.name, KEY);

/** Messages of node prod/web-1 as they lie on the log, and the dead letters of all that are told of, by their contents. */
export async function lose(
  log: EventLog,
  values: readonly (Buffer | string)[],
): Promise<readonly DeadLetter[]> {
  const { headers } = deadLetter();
  const bytes = values.map((value) => Buffer.from(value));
  await log.publish(bytes.map((value) => ({ topic: TOPICS.inventory.name, key: KEY, value, headers })));
  return bytes.map((value, offset) =>
    deadLetter({
      id: `dead-letter-${offset}`,
      partition: PARTITION,
      offset: String(offset),
      value: value.toString('base64'),
    }),
  );
}

/** What went back: everything after the messages that were there from the start. */
export const putBack = async (log: EventLog, before: number) =>
  (await readTopic(log, TOPICS.inventory.name)).slice(before);
