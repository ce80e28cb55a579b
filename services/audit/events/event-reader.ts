import type { LogRecord } from '../../../packages/event-log/port.ts';
import { parseRecord } from '../../../packages/pipeline/parse/parse-record.ts';
import type { EventOf, TopicId } from '../../../schemas/events/topics.ts';
import { ReadSpan } from './reading.ts';
import { Repetitions } from './repetitions.ts';

/** Makes events of records, and keeps account of what was read. */
export class EventReader {
  records = 0;
  unreadable = 0;
  readonly span = new ReadSpan();
  #repetitions = new Repetitions();

  /** A record came, whether or not anybody reads it. */
  count({ timestampMs }: LogRecord): void {
    this.records += 1;
    this.span.reach(timestampMs);
  }

  /** `null` for what is no event of its topic, which is counted. */
  event<Id extends TopicId>(topicId: Id, record: LogRecord): EventOf<Id> | null {
    const parsed = parseRecord(topicId, record);
    if (parsed.ok) return parsed.event;
    this.unreadable += 1;
    return null;
  }

  /** The same, without what lies there once more: any message may be on the log twice. */
  newEvent<Id extends TopicId>(topicId: Id, record: LogRecord): EventOf<Id> | null {
    const event = this.event(topicId, record);
    return event !== null && this.isNew(event, record) ? event : null;
  }

  isNew({ id }: { readonly id: string }, { topic }: Pick<LogRecord, 'topic'>): boolean {
    return this.#repetitions.isFirst(`${topic} ${id}`);
  }

  /** Repetitions lie in the same partition. */
  endPartition(): void {
    this.#repetitions = new Repetitions();
  }
}
