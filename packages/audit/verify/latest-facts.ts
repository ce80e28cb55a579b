import type { LatestFact, LocatedFact } from '../../../schemas/events/latest-fact.ts';
import { subjectOf, TOPICS } from '../../../schemas/events/topics.ts';
import { valueSha256 } from '../../canonical/ids.ts';
import type { LogRecord } from '../../log/port.ts';
import { MINUTE_MS } from '../../process/durations.ts';
import { judgeLatestFact, MOST_LATE_MS } from '../../records/latest-facts.ts';
import { placeOf } from '../events/log-position.ts';
import type { Findings } from './findings.ts';

/** A position is published right after its fact, or soon after; clocks of brokers differ. */
const REMEMBERED_MS = MOST_LATE_MS + 5 * MINUTE_MS;

interface Lying {
  readonly record: Pick<LogRecord, 'topic' | 'partition' | 'offset' | 'timestampMs'>;
  readonly key: string | null;
  readonly sha256: string;
}

/** Whether what `gc.latest-facts` says of one partition is so. Nothing is decided by it: whoever writes there hides nodes, or wants to. */
export class LocatedFacts {
  readonly #findings: Pick<Findings, 'deviation'>;
  /** By topic and offset, in the order of the log. */
  readonly #facts = new Map<string, Lying>();
  /** When the first fact of a topic came that was read. */
  readonly #firstMs = new Map<LocatedFact, number>();
  #positions: { readonly record: LogRecord; readonly latest: LatestFact }[] = [];

  constructor(findings: Pick<Findings, 'deviation'>) {
    this.#findings = findings;
  }

  fact(fact: LocatedFact, record: LogRecord): void {
    const { topic, partition, offset, timestampMs, key, value } = record;
    if (!this.#firstMs.has(fact)) this.#firstMs.set(fact, timestampMs);
    if (value === null) return;
    const place = { topic, partition, offset, timestampMs };
    this.#facts.set(`${fact} ${offset}`, { record: place, key, sha256: valueSha256(value) });
  }

  position(record: LogRecord): void {
    const judged = judgeLatestFact(record);
    if (judged.ok) this.#positions.push({ record, latest: judged.latest });
    else this.#refuse(record, judged.why);
  }

  /** What was read before this time is settled. */
  judge(beforeMs: number): void {
    const settled = this.#positions.filter(({ record }) => record.timestampMs < beforeMs);
    this.#positions = this.#positions.filter(({ record }) => record.timestampMs >= beforeMs);
    for (const { record, latest } of settled) this.#compare(record, latest);
    for (const [name, { record }] of this.#facts) {
      if (record.timestampMs >= beforeMs - REMEMBERED_MS) break;
      this.#facts.delete(name);
    }
  }

  /** What lies before the first fact that was read may be deleted, or before the range: nothing is said of it. */
  #compare(record: LogRecord, { fact, offset, sha256, loggedAtMs }: LatestFact): void {
    const firstMs = this.#firstMs.get(fact);
    if (firstMs === undefined || loggedAtMs <= firstMs) return;
    const found = this.#facts.get(`${fact} ${offset}`);
    const key = subjectOf(TOPICS.latestFacts, record.key)?.key ?? null;
    if (found === undefined)
      this.#refuse(record, `no record of ${TOPICS[fact].name} has the offset ${offset}`);
    else if (found.key !== key || found.sha256 !== sha256 || found.record.timestampMs !== loggedAtMs)
      this.#refuse(record, `another record of ${TOPICS[fact].name} lies at the offset ${offset}`);
  }

  #refuse(record: LogRecord, why: string): void {
    const node = subjectOf(TOPICS.latestFacts, record.key)?.key ?? null;
    const message = `The position of the latest fact of ${node ?? JSON.stringify(record.key)} is not true: ${why}.`;
    this.#findings.deviation({ kind: 'wrong-position', message, node, places: [placeOf(record)] });
  }
}
