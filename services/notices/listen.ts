import type { Logger } from 'pino';
import { NOTIFIER_GROUP_PREFIX } from '../../packages/event-log/access/access-rules.ts';
import type { ActiveSubscription, EventLog } from '../../packages/event-log/port.ts';
import { consumerMetrics } from '../../packages/pipeline/consumer-metrics.ts';
import { createFloodGuard } from '../../packages/pipeline/dead-letters/flood-guard.ts';
import { parseBelieved } from '../../packages/pipeline/parse/parse-believed.ts';
import { readPartition } from '../../packages/pipeline/read-log.ts';
import { MINUTE_MS } from '../../packages/process/durations.ts';
import type { Metrics } from '../../packages/process/metrics.ts';
import type { Sources } from '../../packages/process/system-sources.ts';
import type { Trust } from '../../packages/trust/trust.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { type NoticeKind, topicsOf } from '../../schemas/notices/notice.ts';
import type { Lane } from './delivery/lane.ts';
import { noticesHandler } from './handler.ts';
import { ToldOnce } from './memory.ts';
import { Replays } from './replays.ts';
import { Silence } from './silence.ts';

export interface ListenNeeds {
  readonly log: EventLog;
  readonly trust: Trust;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly sources: Pick<Sources, 'now' | 'monotonicNow' | 'wait'>;
}

interface Listened {
  readonly receiver: string;
  readonly kinds: readonly NoticeKind[];
  readonly lane: Pick<Lane, 'offer'>;
}

/** What reads the log for one receiver. */
export interface Listener extends ActiveSubscription {
  /** Looks for silence until `signal` aborts. */
  watchSilence(signal: AbortSignal): Promise<void>;
  /** Why it does not read at the moment, in a sentence; `null` while it does. */
  problem(): string | null;
}

/** A slice is done with when all its notices are, so it has only few. */
const MAX_SLICE_RECORDS = 50;
const LOOK_EVERY_MS = 20_000;
/** Who fell silent before this process began is found so far back. */
const LOOK_BACK_MS = 10 * MINUTE_MS;

/** The consumer group of a receiver: each is as far as it is, whatever becomes of the others. */
export const groupOf = (receiver: string): string => `${NOTIFIER_GROUP_PREFIX}${receiver}`;

/** Begins at the end of the log the first time, and where it was left from then on. */
export async function listen(
  { log, trust, metrics, logger, sources }: ListenNeeds,
  { receiver, kinds, lane }: Listened,
): Promise<Listener> {
  const silence = new Silence();
  const topics = topicsOf(kinds).map((id) => TOPICS[id].name);
  const counts = consumerMetrics(metrics, `notify-${receiver}`, topics);
  const handle = noticesHandler({
    trust,
    told: new ToldOnce(),
    silence,
    replays: new Replays(log, trust),
    counts,
    logger,
    sources,
    offer: (notices, signal) => lane.offer(notices, signal),
  });
  const subscription = await log.subscribe(
    {
      group: groupOf(receiver),
      topics,
      start: 'latest',
      assignment: { kind: 'shared' },
      maxSliceRecords: MAX_SLICE_RECORDS,
    },
    handle,
  );
  counts.watch(subscription, createFloodGuard());
  const lookBack = lookBackOf({ log, trust, logger, sources }, silence);
  return {
    state: () => subscription.state(),
    problem: () => {
      const { joined, problem } = subscription.state();
      return problem ?? (joined ? null : 'has not joined its group yet');
    },
    stop: () => subscription.stop(),
    finished: subscription.finished,
    watchSilence: async (signal) => {
      if (!topics.includes(TOPICS.diskStats.name)) return;
      while (!signal.aborted) {
        await lookBack(subscription.state().assigned, signal);
        const silent = silence.look(subscription.state(), sources.now());
        // Nobody waits for it here: a receiver that hangs would hide who falls silent meanwhile.
        void lane.offer(silent, signal);
        await sources.wait(LOOK_EVERY_MS, signal);
      }
    },
    [Symbol.asyncDispose]: () => subscription.stop(),
  };
}

type LookBackNeeds = Omit<ListenNeeds, 'metrics'>;

/** Reads the last minutes of each partition that is new here, so that it is known who was there before. */
function lookBackOf(
  { log, trust, logger, sources }: LookBackNeeds,
  silence: Silence,
): (assigned: readonly string[], signal: AbortSignal) => Promise<void> {
  const parse = parseBelieved(trust);
  let known: ReadonlySet<number> = new Set();
  const read = async (partition: number, signal: AbortSignal): Promise<void> => {
    const range = { fromMs: sources.now() - LOOK_BACK_MS, toMs: null };
    const events = readPartition(log, { topics: ['diskStats'], partition, range }, signal);
    for await (const { record } of events) {
      const parsed = parse('diskStats', record);
      if (!parsed.ok) continue;
      const { cluster, node } = parsed.event;
      silence.heard({ cluster, node, partition, atMs: record.timestampMs });
    }
  };
  return async (assigned, signal) => {
    const partitions = partitionsIn(assigned);
    known = new Set([...known].filter((partition) => partitions.includes(partition)));
    for (const partition of partitions.filter((each) => !known.has(each))) {
      try {
        await read(partition, signal);
        known = new Set([...known, partition]);
      } catch (error) {
        if (signal.aborted) return;
        logger.debug({ err: error, partition }, 'who was there before could not be read; it is read again');
      }
    }
  };
}

const partitionsIn = (assigned: readonly string[]): readonly number[] =>
  assigned
    .filter((place) => place.startsWith(`${TOPICS.diskStats.name}/`))
    .map((place) => Number(place.slice(place.lastIndexOf('/') + 1)));
