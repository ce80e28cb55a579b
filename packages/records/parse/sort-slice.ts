import { subjectKindOf, subjectOf } from '../../../schemas/events/topics.ts';
import { topicSpec } from '../../log/partition.ts';
import type { LogRecord, Subscription } from '../../log/port.ts';
import type { FailedMessage } from '../dead-letters/dead-letters.ts';

/** The records of a slice, by whose business they are. */
export interface Sorted {
  readonly own: readonly LogRecord[];
  /** Nobody's by their key, or without one that can be read: no other consumer would answer for them. */
  readonly misplaced: readonly FailedMessage[];
  /** Of other nodes, which share the partition and answer for them, bad ones included. */
  readonly others: number;
}

/** Nodes share partitions: who reads for one key leaves the others' records alone, unparsed. */
export function sortSlice(records: readonly LogRecord[], assignment: Subscription['assignment']): Sorted {
  const lost = records.flatMap((record) => unreadableOf(record) ?? []);
  const readable = lost.length === 0 ? records : records.filter(({ unreadable }) => unreadable === undefined);
  if (assignment.kind === 'shared') return { own: readable, misplaced: lost, others: 0 };
  const own = readable.filter(({ key }) => key === assignment.key);
  const keyless = readable
    .filter(({ topic, key }) => subjectOf(topicSpec(topic), key) === null)
    .map(misplacement);
  const misplaced = [...lost, ...keyless];
  return { own, misplaced, others: records.length - own.length - misplaced.length };
}

/** Whose limit of dead letters they share: any number of keys can be made up. */
const NOBODY = '';

const unreadableOf = (record: LogRecord): FailedMessage | null =>
  record.unreadable === undefined
    ? null
    : { record, cause: 'unreadable-batch', message: record.unreadable, limitedAs: NOBODY };

/** Only the key is looked at: whoever may write for one node would else have every node of its partition read what it wrote. */
const misplacement = (record: LogRecord): FailedMessage => ({
  record,
  cause: 'key-mismatch',
  message: `the key of the record names no ${subjectKindOf(topicSpec(record.topic)) ?? 'subject'}, so nobody takes it`,
  limitedAs: NOBODY,
});
