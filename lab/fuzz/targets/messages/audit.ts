import { collectNames } from '../../../../packages/archive/collect-names.ts';
import { doubledMember, EventReader, RecordReader } from '../../../../packages/audit/events/record-reader.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { parseHead } from '../../../../packages/records/parse/parse-head.ts';
import { parseRecord } from '../../../../packages/records/parse/parse-record.ts';
import type { TopicId } from '../../../../schemas/events/topics.ts';
import { type Outcome, PASSED, REFUSED } from '../../engine/target.ts';
import { isToBeRefusedUnread, type Signatories } from './claims.ts';
import type { ReadMessage } from './topic-readers.ts';

const effect = (what: string): Outcome => ({ passed: true, effect: what });

/** What every audit does with a record: with signatures as `verify` has them, and without. */
export const auditReader =
  (topic: TopicId) =>
  ({ trust }: Signatories): ReadMessage => {
    const visitor = { onJson: () => undefined, onRefused: () => undefined };
    const required = new RecordReader(visitor, trust);
    return ({ record, claim }) => {
      return isToBeRefusedUnread(claim, topic) && required.read(topic, record) !== null
        ? effect(`an audit believes what is ${claim}`)
        : readTwice(topic, record);
    };
  };

function readTwice(topic: TopicId, record: LogRecord): Outcome {
  const reader = new EventReader();
  reader.count(record);
  const event = reader.newEvent(topic, record);
  if (event === null) return REFUSED;
  if (record.value !== null) doubledMember(record.value, event);
  return reader.isNew(event, record) ? effect('an audit takes a message twice') : PASSED;
}

/** Decisions are read only as far as anybody needs them: the short way is to agree with the long one. */
export const decisionsReader = (topic: 'decisions' | 'clusterDecisions') => (): ReadMessage => {
  return ({ record }) => {
    const read = new EventReader().onDecisions(record);
    const parsed = parseRecord(topic, record);
    if (!parsed.ok) return REFUSED;
    return read === null ? effect('an audit does not read what consumers take') : PASSED;
  };
};

/** The beginning of a message, for whoever may pass it over: it is to say the same as the whole. */
export const headReader =
  (topic: 'inventory' | 'diskStats') =>
  (): ReadMessage =>
  ({ record }) => {
    const head = parseHead(topic, record);
    const parsed = parseRecord(topic, record);
    if (head === null || !parsed.ok) return REFUSED;
    const { id, takenAt, nodeInstance } = parsed.event;
    const isSame =
      head.id === id &&
      head.nodeInstance === nodeInstance &&
      head.takenAt.sinceBootMs === takenAt.sinceBootMs;
    return isSame ? PASSED : effect('the head of a message says something else than the message');
  };

/** Gathers names for the index beside an archive; of what cannot be read it says so. */
export const namesReader =
  (): ReadMessage =>
  ({ record }) => {
    const names = collectNames();
    names.add(record);
    const { nodes } = names.lines();
    return nodes.written.length > nodes.unread.length ? PASSED : REFUSED;
  };
