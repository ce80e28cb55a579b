import { setImmediate } from 'node:timers/promises';
import pMap from 'p-map';
import { NODE_PARTITIONS, TOPICS } from '../../schemas/events/topics.ts';
import type { EventLog } from '../log/port.ts';
import type { Sleep } from '../process/backoff.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../process/durations.ts';
import { firstRecord, readPartition } from '../records/read-log.ts';
import { PROJECTED_TOPICS, type ProjectedTopic } from './project.ts';
import { CURVE_EVERY_MS, type ProjectedLog, type Projector } from './read.ts';
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

/** How far back there is something to read of a topic, and more than what is told again and again. */
function longestMs(topic: ProjectedTopic, kind: ProjectedLog['kind']): number {
  const longest = READINGS[topic].longestMs ?? Number.POSITIVE_INFINITY;
  return kind === 'archive' ? longest : Math.min(longest, TOPICS[topic].retentionMs);
}

export interface ReadingNeeds {
  readonly log: Pick<EventLog, 'read'>;
  readonly store: Store;
  readonly projector: Projector;
  readonly turns: Turns;
  readonly trust: Pick<FactTrust, 'knowSigner'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** From where a topic is followed: where it was left, if that was not long ago. Disk statistics are needed anew to know the nodes. */
export function followedFrom(topic: ProjectedTopic, store: Store, nowMs: number): number {
  const { firstMs } = READINGS[topic];
  const left = store.covered(topic).at(-1)?.toMs ?? 0;
  const isRecent = topic !== 'diskStats' && nowMs - left < HOUR_MS;
  return Math.min(nowMs - firstMs, isRecent ? left : nowMs);
}

/** Follows a topic until `signal` aborts; `onCaughtUp` is told again and again that all is read. */
export async function followTopic(
  topic: ProjectedTopic,
  { log, projector, turns, trust, now }: ReadingNeeds,
  { fromMs, onCaughtUp }: { readonly fromMs: number; readonly onCaughtUp: () => void },
  signal: AbortSignal,
): Promise<void> {
  const request = { topic: TOPICS[topic].name, from: { timestampMs: fromMs }, to: 'forever' } as const;
  const startedMs = now();
  const wholeSinceMs = startedMs - READINGS[topic].wholeMs;
  for await (const event of log.read(request, signal)) {
    if (event.kind === 'record') {
      const { record } = event;
      await trust.knowSigner(topic, record, signal);
      if (record.timestampMs < wholeSinceMs) projector.takeSighting(record);
      else projector.take(topic, record, record.timestampMs >= startedMs);
      await turns.give();
    } else {
      const toMs = now() - READINGS[topic].behindMs;
      projector.flush(toMs > fromMs ? [{ topic, span: { fromMs, toMs } }] : []);
      onCaughtUp();
    }
  }
}

/** When the oldest record of a topic was written that is still there; `null` where there is none. */
async function oldestMs(
  topic: ProjectedTopic,
  { log }: Pick<ReadingNeeds, 'log'>,
  signal: AbortSignal,
): Promise<number | null> {
  const { name } = TOPICS[topic];
  const firsts = await pMap(
    PARTITIONS,
    (partition) => firstRecord(log, { topic: name, partition, from: 'earliest' }, signal),
    { concurrency: PARTITIONS_AT_ONCE },
  );
  const times = firsts.flatMap((record) => (record === null ? [] : [record.timestampMs]));
  return times.length === 0 ? null : Math.min(...times);
}

/** Reads the newest part of a topic that was not read yet and is still wanted. Resolves to whether there was one. */
async function readBack(
  topic: ProjectedTopic,
  needs: ReadingNeeds,
  range: { readonly sinceMs: number; readonly beforeMs: number },
  signal: AbortSignal,
): Promise<boolean> {
  const { spanMs, sampleMs } = READINGS[topic];
  const sinceMs = Math.max(range.sinceMs, needs.store.keepsSinceMs(topic));
  const gap = nextGap(needs.store.covered(topic), { ...range, sinceMs, mostMs: spanMs });
  if (gap === null) return false;
  await readSpan(topic, needs, { fromMs: Math.max(gap.fromMs, gap.toMs - sampleMs), toMs: gap.toMs }, signal);
  needs.projector.flush([{ topic, span: gap }]);
  return true;
}

async function readSpan(
  topic: ProjectedTopic,
  { log, projector, turns, trust }: ReadingNeeds,
  range: Span,
  signal: AbortSignal,
): Promise<void> {
  const read = async (partition: number): Promise<void> => {
    for await (const { record } of readPartition(log, { topics: [topic], partition, range }, signal)) {
      await trust.knowSigner(topic, record, signal);
      projector.take(topic, record, false);
      await turns.give();
    }
  };
  await pMap(PARTITIONS, read, { concurrency: PARTITIONS_AT_ONCE });
}

/** Reads back all topics in turns, a part of each, until nothing is left. Resolves to whether there was anything. */
async function readBackAll(
  topics: readonly ProjectedTopic[],
  needs: ReadingNeeds,
  rangeOf: (topic: ProjectedTopic) => { readonly sinceMs: number; readonly beforeMs: number },
  signal: AbortSignal,
): Promise<boolean> {
  let isMore = false;
  for (const topic of topics) {
    if (signal.aborted) return false;
    isMore = (await readBack(topic, needs, rangeOf(topic), signal)) || isMore;
    await needs.turns.give();
  }
  return isMore;
}

const HISTORY_IDLE_MS = MINUTE_MS;

interface PastNeeds {
  readonly reading: ReadingNeeds;
  readonly kind: ProjectedLog['kind'];
  readonly historyMs: number;
  /** Epoch milliseconds: an archive stands still. */
  readonly now: () => number;
  readonly wait: Sleep;
}

/** What lies on the log before that which is followed. */
export class Past {
  readonly #needs: PastNeeds;
  /** Before them there is nothing to read. */
  readonly #oldestMs = new Map<ProjectedTopic, number>();

  constructor(needs: PastNeeds) {
    this.#needs = needs;
  }

  /** Reads all that is wanted, again and again, since what was read is let go in time. */
  async read(startedMs: number, signal: AbortSignal): Promise<void> {
    const { reading, now, wait } = this.#needs;
    for (const topic of PROJECTED_TOPICS)
      this.#oldestMs.set(topic, (await oldestMs(topic, reading, signal)) ?? startedMs);
    const rangeOf = (topic: ProjectedTopic) => ({
      sinceMs: this.wantedSinceMs(topic, now()),
      beforeMs: startedMs + 1,
    });
    while (!signal.aborted) {
      const isMore = await readBackAll(PROJECTED_TOPICS, reading, rangeOf, signal);
      if (!isMore) await wait(HISTORY_IDLE_MS, signal);
    }
  }

  /** What the log has deleted, or never had, is not looked for. */
  wantedSinceMs(topic: ProjectedTopic, nowMs: number): number {
    const { kind, historyMs, reading } = this.#needs;
    return Math.max(
      nowMs - Math.min(historyMs, longestMs(topic, kind)),
      reading.store.keepsSinceMs(topic),
      this.#oldestMs.get(topic) ?? 0,
    );
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
