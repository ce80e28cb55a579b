import pLimit, { type LimitFunction } from 'p-limit';
import type { Logger } from 'pino';
import type { AnyDeciderName } from '../../schemas/events/deciders.ts';
import { type DecisionRange, MOST_RANGES, MOST_STATEMENTS } from '../../schemas/events/head.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { deriveId } from '../canonical/ids.ts';
import { NOTHING_HASHED, runningHash } from '../canonical/running-hash.ts';
import type { Output } from '../decision/handler.ts';
import { partitionOf } from '../log/partition.ts';
import type { LogPosition, LogPublisher, OutgoingRecord } from '../log/port.ts';
import { toFleetGcError } from '../process/errors.ts';
import type { Publisher } from '../records/publisher.ts';

/** @limit Period of signed heads. Keep it below `AROUND_MS`; `gc.heads` is kept for ever. */
export const HEAD_EVERY_MS = 600_000;

/**
 * Ranges that no head could name yet. Only what is written while the log now takes decisions and now does not, and never a head, makes
 * more of them.
 */
const MOST_WAITING = 8 * MOST_RANGES;

/** Where a process that signs gets what it says in heads. */
export interface HeadSources {
  /** A new unique id. */
  readonly newId: () => string;
  /** What is known of keys now: the highest generation of each statement. */
  readonly statements: () => ReadonlyMap<string, number>;
  /** Why nobody would believe what is signed now, in a sentence; `null` when it is believed, or nobody knows. */
  readonly problem: () => string | null;
  /** Resolves after `ms`, or at once when the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

export interface DecisionChainSettings {
  readonly log: LogPublisher;
  /** Signs heads. */
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly decider: AnyDeciderName;
  readonly heads: HeadSources;
  readonly logger: Logger;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** What one replica has written in one partition. */
interface Written {
  /** The number of the next decision. */
  next: number;
  /** What no head names yet and goes on with the next decision. */
  open: DecisionRange | null;
  readonly inTurn: LimitFunction;
}

/**
 * Numbers the decisions of one replica, and says in signed heads which of them the log has acknowledged: nobody can take one away or
 * change it unseen. Replicas know nothing of each other, and a new life of one begins a chain of its own.
 */
export class DecisionChain {
  readonly #settings: DecisionChainSettings;
  readonly #chain: string;
  readonly #written = new Map<number, Written>();
  /** What no head names yet and will not grow any more. */
  #closed: DecisionRange[] = [];
  /** What heads have named of statements. */
  readonly #said = new Map<string, number>();
  readonly #headInTurn = pLimit(1);
  readonly #ended = new AbortController();
  /** Whether a head is to come by itself. */
  #isAwaited = false;

  constructor(settings: DecisionChainSettings) {
    this.#settings = settings;
    this.#chain = settings.heads.newId();
  }

  /** As `EventLog.publish`. Decisions of one partition go one publish after the other, so that their numbers grow with their offsets. */
  async publish(records: readonly OutgoingRecord[]): Promise<readonly LogPosition[]> {
    const partitions = [...new Set(records.filter(isDecision).map(placeOf))].toSorted((a, b) => a - b);
    const positions = await this.#inTurnOf(partitions, () => this.#publish(records, partitions));
    if (partitions.length > 0) this.#awaitHead();
    return positions;
  }

  /** Tells what no head names yet. What cannot be told now is told later: no decision waits for it. Never rejects. */
  publishHead(): Promise<void> {
    return this.#headInTurn(() => this.#publishHead());
  }

  /** The last head: none comes by itself any more. */
  end(): Promise<void> {
    this.#ended.abort();
    return this.publishHead();
  }

  /** Also whoever writes nothing more, because others took its partitions, says what it has written. */
  #awaitHead(): void {
    const { signal } = this.#ended;
    if (this.#isAwaited || signal.aborted) return;
    this.#isAwaited = true;
    void this.#settings.heads.wait(HEAD_EVERY_MS, signal).then(() => {
      this.#isAwaited = false;
      return signal.aborted ? undefined : this.publishHead();
    });
  }

  #inTurnOf<T>(partitions: readonly number[], work: () => Promise<T>): Promise<T> {
    const [first, ...others] = partitions;
    if (first === undefined) return work();
    return this.#of(first).inTurn(() => this.#inTurnOf(others, work));
  }

  async #publish(
    records: readonly OutgoingRecord[],
    partitions: readonly number[],
  ): Promise<readonly LogPosition[]> {
    const { log } = this.#settings;
    const numbered = records.map((record) => (isDecision(record) ? this.#numbered(record) : record));
    let positions: readonly LogPosition[];
    try {
      positions = await log.publish(numbered);
    } catch (error) {
      // Some of them may lie there: their numbers are given to no other, and no head names them.
      for (const partition of partitions) this.#close(this.#of(partition));
      throw error;
    }
    for (const record of numbered) if (isDecision(record)) this.#acknowledged(record);
    return positions;
  }

  #of(partition: number): Written {
    const known = this.#written.get(partition);
    if (known !== undefined) return known;
    const written = { next: 0, open: null, inTurn: pLimit(1) };
    this.#written.set(partition, written);
    return written;
  }

  #numbered(record: OutgoingRecord): OutgoingRecord {
    const written = this.#of(placeOf(record));
    const headers = {
      ...record.headers,
      ce_fleetgcchain: this.#chain,
      ce_fleetgcsequence: String(written.next),
    };
    written.next += 1;
    return { ...record, headers };
  }

  #acknowledged(record: OutgoingRecord): void {
    const partition = placeOf(record);
    const written = this.#of(partition);
    const nowMs = this.#settings.now();
    const { first, records, sha256, firstAtMs } = written.open ?? {
      first: Number(record.headers.ce_fleetgcsequence),
      records: 0,
      sha256: NOTHING_HASHED,
      firstAtMs: nowMs,
    };
    written.open = {
      partition,
      first,
      records: records + 1,
      sha256: runningHash(sha256, record),
      firstAtMs,
      lastAtMs: nowMs,
    };
  }

  #close(written: Written): void {
    if (written.open !== null) this.#closed.push(written.open);
    written.open = null;
    const surplus = this.#closed.length - MOST_WAITING;
    if (surplus <= 0) return;
    this.#closed = this.#closed.slice(surplus);
    this.#settings.logger.warn({ ranges: surplus }, 'no head will ever name these decisions: too many wait');
  }

  async #publishHead(): Promise<void> {
    const problem = this.#settings.heads.problem();
    if (problem === null) await this.#publishAll();
    else this.#tryLater({}, problem);
  }

  /** What waits is not closed while something else does, so that it stays little however long it waits. */
  async #publishAll(): Promise<void> {
    try {
      await this.#publishClosed();
      for (const written of this.#written.values()) this.#close(written);
      await this.#publishClosed();
    } catch (error) {
      const { code, message } = toFleetGcError(error);
      this.#tryLater({ code }, message);
    }
  }

  #tryLater(fields: object, why: string): void {
    this.#settings.logger.warn(fields, `no head of decisions could be published: ${why}`);
    this.#awaitHead();
  }

  /** In as many heads as it takes. Who decides nothing says nothing. */
  async #publishClosed(): Promise<void> {
    if (this.#closed.length === 0) return;
    let [ranges, statements] = this.#next();
    while (ranges.length + statements.length > 0) {
      await this.#settings.publisher.publish([this.#head(ranges, statements)]);
      const named = new Set(ranges);
      this.#closed = this.#closed.filter((range) => !named.has(range));
      for (const [name, generation] of statements) this.#said.set(name, generation);
      [ranges, statements] = this.#next();
    }
  }

  #next(): [readonly DecisionRange[], readonly Statement[]] {
    const unsaid = [...this.#settings.heads.statements()].filter(
      ([name, generation]) => generation > (this.#said.get(name) ?? -1),
    );
    return [this.#closed.slice(0, MOST_RANGES), unsaid.slice(0, MOST_STATEMENTS)];
  }

  #head(ranges: readonly DecisionRange[], statements: readonly Statement[]): Output<'heads'> {
    const chain = this.#chain;
    return {
      topic: 'heads',
      key: chain,
      event: {
        type: 'fleetgc.decision-head',
        version: 1,
        id: deriveId('decision-head', chain, JSON.stringify([ranges, statements])),
        chain,
        decider: this.#settings.decider,
        statements: Object.fromEntries(statements),
        ranges: [...ranges],
      },
    };
  }
}

/** Its name and its generation. */
type Statement = readonly [string, number];

/** Each decider writes on one of them, so that its numbers in a partition are of one topic. */
const isDecision = ({ topic }: OutgoingRecord): boolean =>
  topic === TOPICS.decisions.name || topic === TOPICS.clusterDecisions.name;
const placeOf = ({ topic, key }: OutgoingRecord): number => partitionOf(topic, key);
