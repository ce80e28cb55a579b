import type { Logger } from 'pino';
import { NOTIFIER_GROUP_PREFIX } from '../../packages/log/access/access-rules.ts';
import type { ActiveSubscription, EventLog } from '../../packages/log/port.ts';
import { MINUTE_MS } from '../../packages/process/durations.ts';
import type { Metrics } from '../../packages/process/metrics.ts';
import { sparingly } from '../../packages/process/sparingly.ts';
import type { Sources } from '../../packages/process/system-sources.ts';
import { consumerMetrics } from '../../packages/records/consumer-metrics.ts';
import { createFloodGuard } from '../../packages/records/dead-letters/flood-guard.ts';
import { parseBelieved } from '../../packages/records/parse/parse-believed.ts';
import { firstRecord, readPartition } from '../../packages/records/read-log.ts';
import type { Trust } from '../../packages/records/trust/trust.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { type NoticeKind, topicsOf } from '../../schemas/notices/notice.ts';
import type { PolicySetOf } from '../../schemas/policy/policy.ts';
import type { Lane } from './delivery/lane.ts';
import { noticesHandler } from './handler.ts';
import { ToldOnce } from './memory.ts';
import { Replays } from './replays.ts';
import type { SilenceTopic } from './silence.ts';
import type { HasSince } from './standing-log.ts';
import { HEARD_ON, Watches } from './watches.ts';

export interface ListenNeeds {
  readonly log: EventLog;
  readonly trust: Trust;
  /** Those that are active; `null` where nobody follows them. Throws `POLICIES_UNREADABLE`. */
  readonly policies: (() => PolicySetOf<'cluster'>) | null;
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
const LOOK_BACK_MS = { diskStats: 10 * MINUTE_MS, clusterCensus: 25 * MINUTE_MS };

const UNWATCHED =
  'more nodes or clusters report than are watched: no notice is sent when the latest ones fall silent';

/** The consumer group of a receiver: each is as far as it is, whatever becomes of the others. */
export const groupOf = (receiver: string): string => `${NOTIFIER_GROUP_PREFIX}${receiver}`;

/** Begins at the end of the log the first time, and where it was left from then on. */
export async function listen(
  { log, trust, policies, metrics, logger, sources }: ListenNeeds,
  { receiver, kinds, lane }: Listened,
): Promise<Listener> {
  const watches = new Watches();
  const topics = topicsOf(kinds).map((id) => TOPICS[id].name);
  const counts = consumerMetrics(metrics, `notify-${receiver}`, topics);
  const handle = noticesHandler({
    trust,
    told: new ToldOnce(),
    watches,
    policies,
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
  const lookBack = lookBackOf({ log, trust, logger, sources }, watches);
  return {
    state: () => subscription.state(),
    problem: () => {
      const { joined, problem } = subscription.state();
      return problem ?? (joined ? null : 'has not joined its group yet');
    },
    stop: () => subscription.stop(),
    finished: subscription.finished,
    watchSilence: async (signal) => {
      if (!HEARD_ON.some((topic) => topics.includes(TOPICS[topic].name))) return;
      const hasSince = hasSinceOf(log, logger, signal);
      const mayLog = sparingly(1, sources.monotonicNow);
      while (!signal.aborted) {
        await lookBack(subscription.state().assigned, signal);
        const silent = await watches.look(subscription.state(), sources.now(), hasSince);
        const reports = watches.takeUnwatched();
        if (reports > 0 && mayLog(UNWATCHED)) logger.warn({ receiver, reports }, UNWATCHED);
        // Nobody waits for it here: a receiver that hangs would hide who falls silent meanwhile.
        void lane.offer(silent, signal);
        await sources.wait(LOOK_EVERY_MS, signal);
      }
    },
    [Symbol.asyncDispose]: () => subscription.stop(),
  };
}

const hasSinceOf =
  (log: Pick<EventLog, 'read'>, logger: Logger, signal: AbortSignal): HasSince =>
  async (timestampMs) => {
    try {
      const request = { topic: TOPICS.diskStats.name, from: { timestampMs } };
      return (await firstRecord(log, request, signal)) !== null;
    } catch (error) {
      if (!signal.aborted) logger.debug({ err: error }, 'whether the log moves could not be read');
      return null;
    }
  };

type LookBackNeeds = Omit<ListenNeeds, 'metrics' | 'policies'>;

/** Reads the last minutes of each partition that is new here, so that it is known who was there before. */
function lookBackOf(
  { log, trust, logger, sources }: LookBackNeeds,
  watches: Watches,
): (assigned: readonly string[], signal: AbortSignal) => Promise<void> {
  const parse = parseBelieved(trust);
  let known: ReadonlySet<string> = new Set();
  const read = async ({ topic, partition }: Place, signal: AbortSignal): Promise<void> => {
    const range = { fromMs: sources.now() - LOOK_BACK_MS[topic], toMs: null };
    for await (const { record } of readPartition(log, { topics: [topic], partition, range }, signal)) {
      const parsed = parse(topic, record);
      if (parsed.ok) watches.heard(parsed.event, record);
    }
  };
  return async (assigned, signal) => {
    const places = HEARD_ON.flatMap((topic) => placesOn(topic, assigned));
    known = new Set(places.filter(({ name }) => known.has(name)).map(({ name }) => name));
    for (const place of places.filter(({ name }) => !known.has(name))) {
      try {
        await read(place, signal);
        known = new Set([...known, place.name]);
      } catch (error) {
        if (signal.aborted) return;
        logger.debug(
          { err: error, place: place.name },
          'who was there before could not be read; it is read again',
        );
      }
    }
  };
}

/** A partition, with the name by which people and the log know it. */
interface Place {
  readonly topic: SilenceTopic;
  readonly partition: number;
  readonly name: string;
}

const placesOn = (topic: SilenceTopic, assigned: readonly string[]): readonly Place[] =>
  assigned
    .filter((name) => name.startsWith(`${TOPICS[topic].name}/`))
    .map((name) => ({ topic, name, partition: Number(name.slice(name.lastIndexOf('/') + 1)) }));
