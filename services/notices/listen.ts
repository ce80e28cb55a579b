import type { Logger } from 'pino';
import { NOTIFIER_GROUP_PREFIX } from '../../packages/log/access/access-rules.ts';
import type {
  ActiveSubscription,
  DeathCount,
  EventLog,
  LogReader,
  LogRecord,
  SliceHandler,
} from '../../packages/log/port.ts';
import { believedGenerations } from '../../packages/policy/seen-versions.ts';
import { HOUR_MS, MINUTE_MS } from '../../packages/process/durations.ts';
import { toFleetGcError } from '../../packages/process/errors.ts';
import { createPeriodicYield } from '../../packages/process/event-loop.ts';
import type { Metrics } from '../../packages/process/metrics.ts';
import { sparingly } from '../../packages/process/sparingly.ts';
import type { Sources } from '../../packages/process/system-sources.ts';
import { type ConsumerMetrics, consumerMetrics } from '../../packages/records/consumer-metrics.ts';
import { isDeadly } from '../../packages/records/dead-letters/crash-marks.ts';
import { createFloodGuard } from '../../packages/records/dead-letters/flood-guard.ts';
import { mayBeTooCostly } from '../../packages/records/node-decisions.ts';
import { type ParseRecord, parseBelieved } from '../../packages/records/parse/parse-believed.ts';
import { topicIdOf } from '../../packages/records/parse/parse-record.ts';
import { firstRecord, readPartition } from '../../packages/records/read-log.ts';
import { SeenGenerations } from '../../packages/records/trust/seen-generations.ts';
import { claimedSignature } from '../../packages/records/trust/signature.ts';
import type { Trust } from '../../packages/records/trust/trust.ts';
import { eventType } from '../../schemas/events/envelope.ts';
import { type FleetEvent, TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import { type NoticeKind, topicsOf } from '../../schemas/notices/notice.ts';
import type { PolicySetOf } from '../../schemas/policy/policy.ts';
import type { Lane } from './lane.ts';
import { type Known, type Notice, noticesOf } from './notices.ts';
import { type HasSince, HEARD_ON, type SilenceTopic, Watches } from './silence.ts';

interface ListenNeeds {
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
  (log: LogReader, logger: Logger, signal: AbortSignal): HasSince =>
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

interface HandlerNeeds {
  readonly trust: Trust;
  readonly told: ToldOnce;
  readonly watches: Watches;
  readonly replays: Pick<Replays, 'has'>;
  /** Those that are active; `null` where nobody follows them. Throws `POLICIES_UNREADABLE`. */
  readonly policies: (() => PolicySetOf<'cluster'>) | null;
  readonly offer: (notices: readonly Notice[], signal: AbortSignal) => Promise<void>;
  readonly counts: Pick<ConsumerMetrics, 'handled' | 'read' | 'done'>;
  readonly logger: Pick<Logger, 'error'>;
  readonly sources: Pick<Sources, 'now' | 'monotonicNow'>;
}

/** Decisions are large, and hardly one of them is told: the others are not parsed. */
const isTold = (topic: TopicId, record: LogRecord): boolean =>
  topic !== 'decisions' || record.headers.ce_type === UNRELIEVED || mayBeTooCostly(record);
const UNRELIEVED = eventType({ type: 'fleetgc.node.pressure-unrelieved', version: 1 });

/** Of messages that cannot be judged; the metric counts all of them. */
const MOST_LINES_A_MINUTE = 6;

/**
 * One slice of the log: what is believed of it becomes notices, and it is done with when each of them was delivered or dropped. What is no
 * event, or not believed, is told to nobody: whoever acts on it makes the dead letter.
 */
export function noticesHandler(needs: HandlerNeeds): SliceHandler {
  const { told, offer, counts, sources, trust, replays } = needs;
  const parse = parseBelieved(trust);
  const mayLog = sparingly(MOST_LINES_A_MINUTE, sources.monotonicNow);
  const yieldToEventLoop = createPeriodicYield(sources.monotonicNow);
  const readAll = async (records: readonly LogRecord[], signal: AbortSignal, inHand: DeathCount) => {
    const read: Read[] = [];
    await inHand.begin();
    try {
      for (const record of records) {
        if (signal.aborted) break;
        const one = readOne(record, { needs, parse, deaths: inHand, mayLog });
        const isReplay =
          one.notices.length > 0 && one.topic === 'policies' && (await replays.has(record, signal));
        read.push(isReplay ? { ...one, notices: [] } : one);
        await yieldToEventLoop();
      }
    } finally {
      await inHand.end();
    }
    return read;
  };
  return async (records, signal, inHand) => {
    const read = await readAll(records, signal, inHand);
    if (signal.aborted) return;
    const notices = read.flatMap((each) => each.notices);
    const news = firstOfEach(notices.filter((notice) => told.isNews(notice)));
    await offer(news, signal);
    if (signal.aborted) return;
    told.told(news);
    for (const { topic, outcome, atMs } of read) counts.done(topic, outcome, sources.now() - atMs);
  };
}

interface Read {
  readonly topic: TopicId;
  readonly atMs: number;
  readonly outcome: Parameters<ConsumerMetrics['done']>[1];
  readonly notices: readonly Notice[];
}

interface Reading {
  readonly needs: HandlerNeeds;
  readonly parse: ParseRecord;
  readonly deaths: DeathCount;
  readonly mayLog: (topic: TopicId) => boolean;
}

function readOne(record: LogRecord, reading: Reading): Read {
  const { needs, deaths } = reading;
  const { counts, sources } = needs;
  const topic = topicIdOf(record.topic);
  const read = { topic, atMs: record.timestampMs };
  counts.read(topic, record.timestampMs);
  if (record.unreadable !== undefined) return { ...read, outcome: 'unreadable-batch', notices: [] };
  if (isDeadly(deaths.deaths)) return { ...read, outcome: 'process-died', notices: [] };
  needs.watches.read(topic, record);
  if (!isTold(topic, record)) return { ...read, outcome: 'processed', notices: [] };
  const beginMs = sources.monotonicNow();
  const judged = judge(record, reading);
  counts.handled(topic, sources.monotonicNow() - beginMs);
  return { ...read, ...judged };
}

/** Throws only what will pass: a `FleetGcError` with `retry`. */
function judge(record: LogRecord, { needs, parse, mayLog }: Reading): Pick<Read, 'outcome' | 'notices'> {
  const topic = topicIdOf(record.topic);
  try {
    const parsed = parse(topic, record);
    return parsed.ok
      ? {
          outcome: 'processed',
          notices: ofEvent(parsed.event, record, {
            watches: needs.watches,
            policies: activePolicies(needs),
            isSigned: parsed.signedBy !== undefined,
          }),
        }
      : { outcome: parsed.rejection.cause, notices: [] };
  } catch (error) {
    if (toFleetGcError(error).retry) throw error;
    if (mayLog(topic)) logFailure(needs.logger, record, error);
    return { outcome: 'handler-failed', notices: [] };
  }
}

/** What one message says may not keep the others away. */
const logFailure = (
  logger: Pick<Logger, 'error'>,
  { topic, partition, offset }: LogRecord,
  error: unknown,
): void =>
  logger.error(
    { err: error, topic, partition, offset: String(offset) },
    'what a message tells could not be found out; nobody is told of it, and the next ones are read',
  );

const ofEvent = (
  event: FleetEvent,
  record: LogRecord,
  { watches, ...known }: Known & { readonly watches: Watches },
): readonly Notice[] => [...watches.heard(event, record), ...noticesOf(event, record.timestampMs, known)];

/** `null` where they cannot be read: agents report what is held again within ten minutes, and other notices go on. */
function activePolicies({ policies }: Pick<HandlerNeeds, 'policies'>): PolicySetOf<'cluster'> | null {
  try {
    return policies?.() ?? null;
  } catch (thrown) {
    if (toFleetGcError(thrown).code === 'POLICIES_UNREADABLE') return null;
    throw thrown;
  }
}

/** Of one slice each id and each key once. */
function firstOfEach(notices: readonly Notice[]): readonly Notice[] {
  const keys = new Set<string>();
  return notices.filter(({ id, onceKey }) => {
    const key = onceKey ?? id;
    const isFirst = !keys.has(key);
    keys.add(key);
    return isFirst;
  });
}

/** Finds policies, pauses and approvals of long ago that somebody put back: they count nowhere, so nobody is told of them. */
export class Replays {
  readonly #log: LogReader;
  readonly #trust: Trust;
  readonly #seen = new SeenGenerations();
  #isLearnt = false;

  constructor(log: LogReader, trust: Trust) {
    this.#log = log;
    this.#trust = trust;
  }

  /** Of a record of `gc.policies` that is believed. Rejects where the log cannot tell what there was before. */
  async has({ key, headers }: LogRecord, signal: AbortSignal): Promise<boolean> {
    const claimed = claimedSignature(headers);
    if (key === null || claimed.kind !== 'claimed' || claimed.signature.generation === null) return false;
    const { generation } = claimed.signature;
    if (!this.#isLearnt) await this.#learn(signal);
    if (generation < this.#seen.of('policies', key)) return true;
    this.#seen.saw('policies', new Map([[key, generation]]));
    return false;
  }

  async #learn(signal: AbortSignal): Promise<void> {
    const judging = { trust: this.#trust, onRefused: () => undefined };
    this.#seen.saw('policies', await believedGenerations(this.#log, judging, signal));
    this.#isLearnt = true;
  }
}

/**
 * What the log tells again and again is told once in so long.
 * @limit Period in which `held` and `stuck` notices are repeated.
 */
const REMIND_AFTER_MS = 24 * HOUR_MS;
const MOST_REMEMBERED = 20_000;

/** What was told of what the log tells again and again. Times are those of the log. */
export class ToldOnce {
  readonly #toldAtMs = new Map<string, number>();

  isNews({ onceKey, atMs }: Pick<Notice, 'onceKey' | 'atMs'>): boolean {
    const toldAtMs = onceKey === null ? undefined : this.#toldAtMs.get(onceKey);
    return toldAtMs === undefined || atMs - toldAtMs >= REMIND_AFTER_MS;
  }

  /** Only what was delivered, or given up: what fails comes again. */
  told(notices: readonly Notice[]): void {
    for (const { onceKey, atMs } of notices) {
      if (onceKey === null) continue;
      this.#toldAtMs.delete(onceKey);
      this.#toldAtMs.set(onceKey, atMs);
    }
    for (const key of this.#toldAtMs.keys()) {
      if (this.#toldAtMs.size <= MOST_REMEMBERED) return;
      this.#toldAtMs.delete(key);
    }
  }
}
