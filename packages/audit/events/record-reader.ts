import { type EventOf, TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import type { LogRecord } from '../../log/port.ts';
import { topicIdOf } from '../../records/parse/event-schemas.ts';
import { distrusted } from '../../records/parse/parse-believed.ts';
import {
  type ParsedRecord,
  parseJson,
  parseValueOf,
  type Rejection,
} from '../../records/parse/parse-record.ts';
import type { Trust } from '../../records/trust/trust.ts';
import { type OnDecisions, onDecisions } from './recorded-decision.ts';

/** A record that was read: its event, and what its bytes say as JSON. */
export interface ReadRecord<Id extends TopicId> {
  readonly event: EventOf<Id>;
  readonly value: unknown;
  readonly record: LogRecord;
}

/** What whoever reads is told of the records on the way. */
export interface ReadingVisitor {
  /** The bytes are JSON, and say this; whether that is an event was not asked yet. */
  readonly onJson: (record: LogRecord, value: unknown) => void;
  /** No consumer takes it. */
  readonly onRefused: (topicId: TopicId, record: LogRecord, rejection: Rejection) => void;
}

/**
 * Makes events of records by the steps of every consumer: who may speak, JSON, schema, key and headers. Some audits count what is
 * refused, and others tell of it: that is their visitor.
 */
export class RecordReader {
  readonly #visitor: ReadingVisitor;
  readonly #trust: Trust;

  constructor(visitor: ReadingVisitor, trust: Trust) {
    this.#visitor = visitor;
    this.#trust = trust;
  }

  /** `null` for what is no event of its topic. */
  read<Id extends TopicId>(topicId: Id, record: LogRecord): ReadRecord<Id> | null {
    const json = this.#json(topicId, record);
    const parsed = json.ok ? parseValueOf(topicId, json.event, record) : json;
    if (json.ok && parsed.ok) return { event: parsed.event, value: json.event, record };
    if (!parsed.ok) this.#visitor.onRefused(topicId, record, parsed.rejection);
    return null;
  }

  /** The same for the topics of decisions, whose records are parsed only as far as anybody needs them. */
  onDecisions(record: LogRecord): OnDecisions | null {
    const topicId = topicIdOf(record.topic);
    const json = this.#json(topicId, record);
    const found = json.ok ? onDecisions(record, json.event) : json;
    if (found.ok) return found.event;
    this.#visitor.onRefused(topicId, record, found.rejection);
    return null;
  }

  #json(topicId: TopicId, record: LogRecord): ParsedRecord<unknown> {
    const authentication = this.#trust.authenticate(topicId, record);
    if (!authentication.ok) return distrusted(authentication.distrust);
    const json = parseJson(TOPICS[topicId].name, record.value);
    if (json.ok) this.#visitor.onJson(record, json.event);
    return json;
  }
}
