import type { EventOf, TopicId } from '../../../schemas/events/topics.ts';
import type { LogRecord } from '../../log/port.ts';
import { TRUST_OFF } from '../../records/trust/trust.ts';
import { ReadSpan } from './reading.ts';
import { RecordReader } from './record-reader.ts';
import type { OnDecisions } from './recorded-decision.ts';
import { messageName, Repetitions } from './repetitions.ts';

/** Reads records, and keeps account of what was read. */
export class EventReader {
  records = 0;
  unreadable = 0;
  readonly span = new ReadSpan();
  readonly #reader = new RecordReader(
    {
      onJson: () => undefined,
      onRefused: () => {
        this.unreadable += 1;
      },
    },
    TRUST_OFF,
  );
  #repetitions = new Repetitions();

  /** A record came, whether or not anybody reads it. */
  count({ timestampMs }: LogRecord): void {
    this.records += 1;
    this.span.reach(timestampMs);
  }

  /** `null` for what is no event of its topic, which is counted. */
  event<Id extends TopicId>(topicId: Id, record: LogRecord): EventOf<Id> | null {
    return this.#reader.read(topicId, record)?.event ?? null;
  }

  /** The same for the topic of decisions. */
  onDecisions(record: LogRecord): OnDecisions | null {
    return this.#reader.onDecisions(record);
  }

  /** The same, without what lies there once more: any message may be on the log twice. */
  newEvent<Id extends TopicId>(topicId: Id, record: LogRecord): EventOf<Id> | null {
    const event = this.event(topicId, record);
    return event !== null && this.isNew(event, record) ? event : null;
  }

  isNew(event: { readonly id: string }, record: Pick<LogRecord, 'topic'>): boolean {
    return this.#repetitions.isFirst(messageName(event, record));
  }

  /** Repetitions lie in the same partition. */
  endPartition(): void {
    this.#repetitions = new Repetitions();
  }
}
