import { TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import type { LogRecord } from '../../log/port.ts';
import type { Rejection } from '../../records/parse/parse-record.ts';
import { doubledMember, doubledText } from '../events/doubled-member.ts';
import { placeOf } from '../events/log-position.ts';
import { ComparedRepetitions, messageName } from '../events/repetitions.ts';
import type { Findings } from './findings.ts';

/**
 * Tells what is wrong with the records of one partition, one by one, whatever they are about. Other audits do not ask it: they sum
 * up what consumers took, while `verify` has to find what nobody may have written, and what is missing.
 */
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
  isRepeated(event: { readonly id: string }, record: LogRecord): boolean {
    const { kind } = this.#repetitions.sighting(messageName(event, record), record);
    if (kind === 'same') this.#findings.counts.duplicates++;
    return kind === 'same';
  }

  /** Whether it is there for the first time; tells of another content. */
  isNew(event: { readonly id: string }, record: LogRecord, content: string): boolean {
    const sighting = this.#repetitions.sighting(messageName(event, record), record, content);
    if (sighting.kind === 'same') this.#findings.counts.duplicates++;
    if (sighting.kind === 'other')
      this.#findings.deviation({
        kind: 'id-reused',
        message: `two records have the id ${event.id} and different contents`,
        node: record.key,
        places: [placeOf(record), sighting.before],
      });
    return sighting.kind === 'first';
  }
}
