import { z } from 'zod';
import { isNodeKey, nodeKey } from '../../schemas/identity.ts';
import type { FailedMessage } from './dead-letters.ts';
import type { LogRecord, Subscription } from './event-log/port.ts';
import { topicIdOf } from './event-schemas.ts';
import { parseRecord } from './parse-record.ts';

/** The records of a slice, by whose business they are. */
export interface Sorted {
  readonly own: readonly LogRecord[];
  /** Nobody's by their key, or ours by their value alone: no other consumer would answer for them. */
  readonly misplaced: readonly FailedMessage[];
  /** Of other nodes, which share the partition and answer for them, bad ones included. */
  readonly others: number;
}

/** Nodes share partitions: who reads for one key leaves the others' records alone. */
export function sortRecords(records: readonly LogRecord[], assignment: Subscription['assignment']): Sorted {
  if (assignment.kind === 'shared') return { own: records, misplaced: [], others: 0 };
  const own = records.filter(({ key }) => key === assignment.key);
  const misplaced = records
    .filter(({ key }) => key !== assignment.key)
    .flatMap((record) => misplacement(record, assignment.key) ?? []);
  return { own, misplaced, others: records.length - own.length - misplaced.length };
}

/** Whose limit of dead letters they share: any number of keys can be made up. */
const NOBODY = '';

function misplacement(record: LogRecord, ownKey: string): FailedMessage | null {
  const isOfNode = record.key !== null && isNodeKey(record.key);
  if (isOfNode && !mentions(record, ownKey)) return null;
  const parsed = parseRecord(topicIdOf(record.topic), record);
  if (parsed.ok) return null;
  const { cause, message, value } = parsed.rejection;
  return isOfNode && !isAbout(value, ownKey) ? null : { record, cause, message, limitedAs: NOBODY };
}

/** Cheaper than parsing: most records are of others, and of no interest. */
const mentions = ({ value }: LogRecord, ownKey: string): boolean =>
  value?.includes(ownKey.slice(ownKey.indexOf('/') + 1)) === true;

const Named = z.object({ cluster: z.string(), node: z.string() });

function isAbout(value: unknown, ownKey: string): boolean {
  const { success, data } = Named.safeParse(value);
  return success && nodeKey(data) === ownKey;
}
