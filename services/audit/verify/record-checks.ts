import type { LogRecord } from '../../../packages/event-log/port.ts';
import {
  type ParsedRecord,
  parseJson,
  parseValueOf,
  type Rejection,
} from '../../../packages/pipeline/parse/parse-record.ts';
import { type EventOf, TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import { doubledMember, doubledText } from '../events/doubled-member.ts';
import { placeOf } from '../events/log-position.ts';
import { ComparedRepetitions } from '../events/repetitions.ts';
import type { Findings } from './findings.ts';

/** A record that was read: its event, and what its bytes say as JSON. */
export interface ReadRecord<Id extends TopicId> {
  readonly event: EventOf<Id>;
  readonly value: unknown;
  readonly record: LogRecord;
}

/** Checks the records of one partition one by one, whatever they are about, and tells what is wrong with them. */
export class RecordChecks {
  readonly #findings: Findings;
  /** The last record of each topic. */
  readonly #last = new Map<string, LogRecord>();
  readonly #repetitions = new ComparedRepetitions();

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  /** Follows the offsets of each topic: where some are left out, records are missing that nobody can say anything of. */
  follow(record: LogRecord): void {
    const before = this.#last.get(record.topic);
    this.#last.set(record.topic, record);
    if (before === undefined || record.offset <= before.offset + 1n) return;
    const missing = record.offset - before.offset - 1n;
    this.#findings.gap({
      kind: 'records-missing',
      message: `${missing} records of ${record.topic} are missing between two that are there`,
      node: null,
      places: [placeOf(before), placeOf(record)],
    });
  }

  /** What the bytes say as JSON; that they say nothing was not told yet. */
  json(record: LogRecord): ParsedRecord<unknown> {
    const json = parseJson(record.topic, record.value);
    if (json.ok) this.tellDoubledMember(record, json.event);
    return json;
  }

  /** The event on its topic, with what its bytes say; that it is none was not told yet. */
  read<Id extends TopicId>(topicId: Id, record: LogRecord): ParsedRecord<ReadRecord<Id>> {
    const json = this.json(record);
    if (!json.ok) return json;
    const parsed = parseValueOf(topicId, json.event, record);
    return parsed.ok ? { ok: true, event: { event: parsed.event, value: json.event, record } } : parsed;
  }

  /** Tells of a record that has a member twice: JSON.parse takes the last of them, and other readers the first. */
  tellDoubledMember(record: LogRecord, parsed: unknown): void {
    const name = record.value === null ? null : doubledMember(record.value, parsed);
    if (name === null) return;
    this.#findings.deviation({
      kind: 'doubled-member',
      message: doubledText(name),
      node: record.key,
      places: [placeOf(record)],
    });
  }

  /** Tells of a record that no consumer takes. */
  tellRejected(topicId: TopicId, record: LogRecord, { cause, message }: Rejection): void {
    const found = { node: record.key, places: [placeOf(record)] };
    const refused = `no consumer of ${TOPICS[topicId].name} takes it: ${message}`;
    if (cause === 'unknown-version') this.#findings.gap({ kind: 'unknown-version', message, ...found });
    else this.#findings.deviation({ kind: 'unreadable', message: refused, ...found });
  }

  /** Whether it lay there before, as it is now. */
  isRepeated({ id }: { readonly id: string }, record: LogRecord): boolean {
    const { kind } = this.#repetitions.sighting(`${record.topic} ${id}`, record);
    if (kind === 'same') this.#findings.counts.duplicates++;
    return kind === 'same';
  }

  /** Whether it is there for the first time; tells of another content. */
  isNew({ id }: { readonly id: string }, record: LogRecord, content: string): boolean {
    const sighting = this.#repetitions.sighting(`${record.topic} ${id}`, record, content);
    if (sighting.kind === 'same') this.#findings.counts.duplicates++;
    if (sighting.kind === 'other')
      this.#findings.deviation({
        kind: 'id-reused',
        message: `two records have the id ${id} and different contents`,
        node: record.key,
        places: [placeOf(record), sighting.before],
      });
    return sighting.kind === 'first';
  }
}
