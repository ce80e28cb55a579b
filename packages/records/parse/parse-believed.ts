import type { EventOf, TopicId } from '../../../schemas/events/topics.ts';
import type { LogRecord } from '../../log/port.ts';
import type { Distrust, Principal, Trust } from '../trust/trust.ts';
import { type ParsedRecord, parseRecord } from './parse-record.ts';

/** How records become events for whoever acts on them. */
export type ParseRecord = <Id extends TopicId>(topic: Id, record: LogRecord) => ParsedRecord<EventOf<Id>>;

/** Looks at who signed a record before it looks into it. */
export const parseBelieved =
  (trust: Trust): ParseRecord =>
  (topic, record) => {
    const authentication = trust.authenticate(topic, record);
    return authentication.ok
      ? signedBy(authentication.principal, parseRecord(topic, record))
      : distrusted(authentication.distrust);
  };

/** Nobody looks into what is not believed. */
export const distrusted = ({ cause, message }: Distrust): ParsedRecord<never> => ({
  ok: false,
  rejection: { cause, message, value: null },
});

const signedBy = <Event>(principal: Principal, parsed: ParsedRecord<Event>): ParsedRecord<Event> =>
  parsed.ok && principal.kind === 'key' ? { ...parsed, signedBy: principal.keyId } : parsed;
