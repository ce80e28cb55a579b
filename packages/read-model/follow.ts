import { setImmediate } from 'node:timers/promises';
import pMap from 'p-map';
import { NODE_PARTITIONS, TOPICS } from '../../schemas/events/topics.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../process/durations.ts';
import { firstRecord, readPartition } from '../records/read-log.ts';
import { PROJECTED_TOPICS, type ProjectedTopic } from './project.ts';
import { CURVE_EVERY_MS, type ProjectionSettings, type Projector, timeOf } from './read.ts';
import { nextGap, type Span, type Store } from './store.ts';
import type { FactTrust } from './trust.ts';

/** Clocks of brokers differ: what was read is told to be read up to so long before. */
const CLOCKS_DIFFER_MS = MINUTE_MS;
const PARTITIONS_AT_ONCE = 4;
const PARTITIONS = Array.from({ length: NODE_PARTITIONS }, (_, partition) => partition);

interface Reading {
  /** What is read at the start, before anything is shown, when nothing of it was read before. */
  readonly firstMs: number;
  /** So much of the past is read at once. */
  readonly spanMs: number;
  /** Of each such span its last part alone is read, where that tells of all of it. */
  readonly sampleMs: number;
  /** What is followed counts as read up to so long ago. */
  readonly behindMs: number;
  /** Of what is older at the start, records tell no more than that somebody was heard: something newer of each follows. */
  readonly wholeMs: number;
  /** No more of its past is read than this. */
  readonly longestMs?: number;
}

/**
 * How each topic is read. Every node publishes disk statistics each minute, and they carry two hours of the past; it publishes an
 * inventory at least every five minutes. So of the past of both a sample tells enough.
 */
const READINGS: Readonly<Record<ProjectedTopic, Reading>> = {
  diskStats: {
    firstMs: 3.5 * MINUTE_MS,
    spanMs: 100 * MINUTE_MS,
    sampleMs: 1.5 * MINUTE_MS,
    behindMs: CURVE_EVERY_MS,
    wholeMs: 1.2 * MINUTE_MS,
  },
  inventory: {
    firstMs: 6 * MINUTE_MS,
    spanMs: HOUR_MS,
    sampleMs: 6 * MINUTE_MS,
    behindMs: CLOCKS_DIFFER_MS,
    wholeMs: Number.POSITIVE_INFINITY,
  },
  results: {
    firstMs: HOUR_MS,
    spanMs: HOUR_MS,
    sampleMs: HOUR_MS,
    behindMs: CLOCKS_DIFFER_MS,
    wholeMs: Number.POSITIVE_INFINITY,
  },
  deadLetters: {
    firstMs: HOUR_MS,
    spanMs: DAY_MS,
    sampleMs: DAY_MS,
    behindMs: CLOCKS_DIFFER_MS,
    wholeMs: Number.POSITIVE_INFINITY,
  },
  decisions: {
    firstMs: 15 * MINUTE_MS,
    spanMs: HOUR_MS,
    sampleMs: HOUR_MS,
    behindMs: CLOCKS_DIFFER_MS,
    wholeMs: Number.POSITIVE_INFINITY,
  },
  // Agents tell how their cluster stands, and each candidate, within ten minutes.
  clusterCensus: {
    firstMs: 25 * MINUTE_MS,
    spanMs: 6 * HOUR_MS,
    sampleMs: 6 * HOUR_MS,
    behindMs: CLOCKS_DIFFER_MS,
    wholeMs: Number.POSITIVE_INFINITY,
  },
  clusterOwnership: {
    firstMs: 15 * MINUTE_MS,
    spanMs: HOUR_MS,
    sampleMs: HOUR_MS,
    behindMs: CLOCKS_DIFFER_MS,
    wholeMs: Number.POSITIVE_INFINITY,
    longestMs: 3 * DAY_MS,
  },
  clusterResults: {
    firstMs: HOUR_MS,
    spanMs: HOUR_MS,
    sampleMs: HOUR_MS,
    behindMs: CLOCKS_DIFFER_MS,
    wholeMs: Number.POSITIVE_INFINITY,
  },
};

const HISTORY_IDLE_MS = MINUTE_MS;
/** How often is looked whether all is read. */
const CATCHING_UP_MS = 1_000;

/** Follows a log into the store: each topic from where it was left, and behind it the past, the newest part first. */
export class Follower {
  readonly #settings: ProjectionSettings;
  readonly #store: Store;
  readonly #projector: Projector;
  readonly #trust: FactTrust;
  readonly #turns: Turns;
  readonly #caughtUp = new Set<ProjectedTopic>();
  /** Before them there is nothing to read. */
  readonly #oldestMs = new Map<ProjectedTopic, number>();

  constructor(settings: ProjectionSettings, store: Store, projector: Projector, trust: FactTrust) {
    this.#settings = settings;
    this.#store = store;
    this.#projector = projector;
    this.#trust = trust;
    this.#turns = new Turns(settings.sources.monotonicNow);
  }

  begin(): void {
    this.#caughtUp.clear();
  }

  hasCaughtUp(topic: ProjectedTopic): boolean {
    return this.#caughtUp.has(topic);
  }

  async untilCaughtUp(topic: ProjectedTopic, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.hasCaughtUp(topic))
      await this.#settings.sources.wait(CATCHING_UP_MS, signal);
  }

  /** Follows a topic until `signal` aborts. Of an archive, which stands still, there is only the past. */
  async follow(topic: ProjectedTopic, signal: AbortSignal): Promise<void> {
    const { from, sources } = this.#settings;
    if (from.kind === 'archive') {
      this.#caughtUp.add(topic);
      return;
    }
    const startedMs = sources.now();
    const fromMs = this.#followedFrom(topic, startedMs);
    const wholeSinceMs = startedMs - READINGS[topic].wholeMs;
    const request = { topic: TOPICS[topic].name, from: { timestampMs: fromMs }, to: 'forever' } as const;
    for await (const event of from.log.read(request, signal)) {
      if (event.kind === 'record') {
        const { record } = event;
        await this.#trust.knowSigner(topic, record, signal);
        if (record.timestampMs < wholeSinceMs) this.#projector.takeSighting(record);
        else this.#projector.take(topic, record, record.timestampMs >= startedMs);
        await this.#turns.give();
      } else {
        const toMs = sources.now() - READINGS[topic].behindMs;
        this.#projector.flush(toMs > fromMs ? [{ topic, span: { fromMs, toMs } }] : []);
        this.#caughtUp.add(topic);
      }
    }
  }

  /** Where it was left, if that was not long ago. Disk statistics are needed anew to know the nodes. */
  #followedFrom(topic: ProjectedTopic, nowMs: number): number {
    const left = this.#store.covered(topic).at(-1)?.toMs ?? 0;
    const isRecent = topic !== 'diskStats' && nowMs - left < HOUR_MS;
    return Math.min(nowMs - READINGS[topic].firstMs, isRecent ? left : nowMs);
  }

  /** Reads what is wanted of the time before `startedMs`, again and again, since what was read is let go in time. */
  async readPast(startedMs: number, signal: AbortSignal): Promise<void> {
    for (const topic of PROJECTED_TOPICS) await this.untilCaughtUp(topic, signal);
    if (signal.aborted) return;
    for (const topic of PROJECTED_TOPICS)
      this.#oldestMs.set(topic, (await this.#findOldestMs(topic, signal)) ?? startedMs);
    while (!signal.aborted) {
      const isMore = await this.#readBackAll(startedMs + 1, signal);
      if (!isMore) await this.#settings.sources.wait(HISTORY_IDLE_MS, signal);
    }
  }

  /** What the log has deleted, or never had, is not looked for. */
  wantedSinceMs(topic: ProjectedTopic, nowMs: number): number {
    const { from, historyMs } = this.#settings;
    const longestMs = READINGS[topic].longestMs ?? Number.POSITIVE_INFINITY;
    const keptMs = from.kind === 'archive' ? longestMs : Math.min(longestMs, TOPICS[topic].retentionMs);
    return Math.max(
      nowMs - Math.min(historyMs, keptMs),
      this.#store.keepsSinceMs(topic),
      this.#oldestMs.get(topic) ?? 0,
    );
  }

  /** When the oldest record of a topic was written that is still there; `null` where there is none. */
  async #findOldestMs(topic: ProjectedTopic, signal: AbortSignal): Promise<number | null> {
    const { log } = this.#settings.from;
    const { name } = TOPICS[topic];
    const firsts = await pMap(
      PARTITIONS,
      (partition) => firstRecord(log, { topic: name, partition, from: 'earliest' }, signal),
      { concurrency: PARTITIONS_AT_ONCE },
    );
    const times = firsts.flatMap((record) => (record === null ? [] : [record.timestampMs]));
    return times.length === 0 ? null : Math.min(...times);
  }

  /** A part of each topic in turns. Resolves to whether there was anything left. */
  async #readBackAll(beforeMs: number, signal: AbortSignal): Promise<boolean> {
    let isMore = false;
    for (const topic of PROJECTED_TOPICS) {
      if (signal.aborted) return false;
      isMore = (await this.#readBack(topic, beforeMs, signal)) || isMore;
      await this.#turns.give();
    }
    return isMore;
  }

  /** Reads the newest part of a topic that was not read yet and is still wanted. Resolves to whether there was one. */
  async #readBack(topic: ProjectedTopic, beforeMs: number, signal: AbortSignal): Promise<boolean> {
    const { spanMs, sampleMs } = READINGS[topic];
    const sinceMs = this.wantedSinceMs(topic, timeOf(this.#settings));
    const gap = nextGap(this.#store.covered(topic), { sinceMs, beforeMs, mostMs: spanMs });
    if (gap === null) return false;
    await this.#readSpan(
      topic,
      { fromMs: Math.max(gap.fromMs, gap.toMs - sampleMs), toMs: gap.toMs },
      signal,
    );
    this.#projector.flush([{ topic, span: gap }]);
    return true;
  }

  async #readSpan(topic: ProjectedTopic, range: Span, signal: AbortSignal): Promise<void> {
    const { log } = this.#settings.from;
    const read = async (partition: number): Promise<void> => {
      for await (const { record } of readPartition(log, { topics: [topic], partition, range }, signal)) {
        await this.#trust.knowSigner(topic, record, signal);
        this.#projector.take(topic, record, false);
        await this.#turns.give();
      }
    };
    await pMap(PARTITIONS, read, { concurrency: PARTITIONS_AT_ONCE });
  }
}

/** Whoever asks while the log is read waits no longer than some of these. */
const TURN_MS = 15;

/** Lets whoever asks have their turn while the log is read: all its readers together keep them waiting no longer than one turn. */
export class Turns {
  readonly #nowMs: () => number;
  #beganMs: number;
  #next: Promise<void> | null = null;

  /** `nowMs`: milliseconds of a clock that does not jump. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#beganMs = nowMs();
  }

  /** Resolves at once while the turn lasts. */
  async give(): Promise<void> {
    if (this.#nowMs() - this.#beganMs < TURN_MS) return;
    this.#next ??= this.#begin();
    await this.#next;
  }

  async #begin(): Promise<void> {
    await setImmediate();
    this.#beganMs = this.#nowMs();
    this.#next = null;
  }
}
