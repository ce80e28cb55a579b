import type { LatestFact, LocatedFact } from '../../../schemas/events/latest-fact.ts';
import { subjectOf, TOPICS } from '../../../schemas/events/topics.ts';
import { valueSha256 } from '../../canonical/ids.ts';
import type { LogRecord } from '../../log/port.ts';
import { MINUTE_MS } from '../../process/durations.ts';
import { judgeLatestFact, MOST_LATE_MS } from '../../records/latest-facts.ts';
import type { TimeRange } from '../../records/read-log.ts';
import { type Place, placeOf } from '../events/log-position.ts';
import { type Coverage, type Judging, SETTLED_MS } from './coverage.ts';
import type { Findings } from './findings.ts';

/** A position is published right after its fact, or soon after; clocks of brokers differ. */
const REMEMBERED_MS = MOST_LATE_MS + 5 * MINUTE_MS;

/** A position that was read, and is not compared yet. */
interface Said {
  readonly key: string | null;
  readonly place: Place;
  readonly latest: LatestFact;
}

interface Lying {
  readonly key: string | null;
  /** `null` for a record without a value. */
  readonly sha256: string | null;
  readonly timestampMs: number;
}

/** Offsets that are missing between two records. */
interface Hole {
  readonly after: bigint;
  readonly before: bigint;
  /** When the record behind it came. */
  readonly endMs: number;
}

/** What was read of one topic of facts. */
class ReadFacts {
  /** When the first one came. */
  firstMs: number | null = null;
  lastMs = 0;
  lastOffset = -1n;
  /** By offset, in the order of the log. */
  readonly #records = new Map<bigint, Lying>();
  #holes: Hole[] = [];

  take({ offset, timestampMs, key, value }: LogRecord): void {
    if (this.firstMs !== null && offset > this.lastOffset + 1n)
      this.#holes.push({ after: this.lastOffset, before: offset, endMs: timestampMs });
    this.firstMs ??= timestampMs;
    this.lastMs = Math.max(this.lastMs, timestampMs);
    this.lastOffset = offset;
    this.#records.set(offset, { key, sha256: value === null ? null : valueSha256(value), timestampMs });
  }

  at(offset: bigint): Lying | null {
    return this.#records.get(offset) ?? null;
  }

  isMissing(offset: bigint): boolean {
    return this.#holes.some(({ after, before }) => after < offset && offset < before);
  }

  forget(beforeMs: number): void {
    this.#holes = this.#holes.filter(({ endMs }) => endMs >= beforeMs);
    for (const [offset, { timestampMs }] of this.#records) {
      if (timestampMs >= beforeMs) break;
      this.#records.delete(offset);
    }
  }
}

/** A partition has the positions of some hundred nodes. */
const MOST_OPEN = 10_000;

interface LocatedFactsNeeds {
  readonly findings: Pick<Findings, 'deviation' | 'gap'>;
  readonly coverage: Coverage;
  readonly range: TimeRange;
  /** Whether retention deletes from this log. */
  readonly deletes: boolean;
}

/** Whether what `gc.latest-facts` says of one partition is so. Nothing is decided by it: whoever writes there hides nodes, or wants to. */
export class LocatedFacts {
  readonly #needs: LocatedFactsNeeds;
  readonly #facts: Readonly<Record<LocatedFact, ReadFacts>> = {
    diskStats: new ReadFacts(),
    clusterCensus: new ReadFacts(),
  };
  #positions: Said[] = [];

  constructor(needs: LocatedFactsNeeds) {
    this.#needs = needs;
  }

  fact(fact: LocatedFact, record: LogRecord): void {
    this.#facts[fact].take(record);
  }

  position(record: LogRecord): void {
    const { key } = record;
    const judged = judgeLatestFact(record);
    if (judged.ok) this.#positions.push({ key, place: placeOf(record), latest: judged.latest });
    else this.#refuse({ key, place: placeOf(record) }, judged.why);
  }

  /** What was read before this time is settled, except positions behind the last fact: what comes next tells what they are. */
  judge({ beforeMs, atEnd }: Judging): void {
    const isOpen = ({ place, latest }: Said): boolean =>
      place.timestampMs >= beforeMs ||
      (!atEnd && BigInt(latest.offset) > this.#facts[latest.fact].lastOffset);
    const { true: open = [], false: settled = [] } = Object.groupBy(this.#positions, (said) =>
      isOpen(said) ? 'true' : 'false',
    );
    // Positions that are made up may name records that never come: the oldest are settled by what was read.
    const tooMany = open.splice(0, Math.max(0, open.length - MOST_OPEN));
    this.#positions = open;
    for (const said of [...settled, ...tooMany]) this.#compare(said);
    for (const facts of Object.values(this.#facts)) facts.forget(beforeMs - REMEMBERED_MS);
  }

  /**
   * What lies before the first fact that was read may be deleted, or before the range; and at the end of the range clocks of brokers
   * decide which of both lies in it. Nothing is said of these.
   */
  #compare(said: Said): void {
    const { fact, offset, sha256, loggedAtMs } = said.latest;
    const { range, coverage } = this.#needs;
    const facts = this.#facts[fact];
    if (range.toMs !== null && loggedAtMs >= range.toMs - MINUTE_MS) return;
    if (loggedAtMs <= (facts.firstMs ?? coverage(fact))) return;
    const found = facts.at(BigInt(offset));
    if (found === null) this.#notThere(said, facts);
    else if (found.key !== nodeOf(said) || found.sha256 !== sha256 || found.timestampMs !== loggedAtMs)
      this.#refuse(said, `another record of ${TOPICS[fact].name} lies at the offset ${offset}`);
  }

  /** Where other records are missing too, or the whole topic, the fact may be lost or deleted: what the position named is unknown then. */
  #notThere(said: Said, facts: ReadFacts): void {
    const { fact, offset, loggedAtMs } = said.latest;
    const { name } = TOPICS[fact];
    const behindMs = BigInt(offset) > facts.lastOffset ? loggedAtMs - facts.lastMs : null;
    if (facts.isMissing(BigInt(offset)))
      this.#unknown(said, `records of ${name} around the offset ${offset} are missing`);
    else if (facts.firstMs === null)
      this.#unknown(
        said,
        `${name} has no records of that time. They were deleted, or somebody made the position up`,
      );
    // A pass of the archiver may take a position and leave its fact to the next one.
    else if (!this.#needs.deletes && behindMs !== null && behindMs >= -SETTLED_MS) {
      if (behindMs > SETTLED_MS) this.#unknown(said, `the archive has no later records of ${name}`);
    } else this.#refuse(said, `no record of ${name} has the offset ${offset}`);
  }

  #unknown(said: Pick<Said, 'key' | 'place'>, why: string): void {
    const node = nodeOf(said);
    const message = `Cannot verify the position of the latest fact of ${nameOf(said)}: ${why}.`;
    this.#needs.findings.gap({ kind: 'records-missing', message, node, places: [said.place] });
  }

  #refuse(said: Pick<Said, 'key' | 'place'>, why: string): void {
    const node = nodeOf(said);
    const message = `The position of the latest fact of ${nameOf(said)} is not true: ${why}.`;
    this.#needs.findings.deviation({ kind: 'wrong-position', message, node, places: [said.place] });
  }
}

const nodeOf = ({ key }: Pick<Said, 'key'>): string | null => subjectOf(TOPICS.latestFacts, key)?.key ?? null;

const nameOf = (said: Pick<Said, 'key'>): string => nodeOf(said) ?? JSON.stringify(said.key);
