import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { subjectKindOf, subjectOf, TOPICS } from '../../schemas/events/topics.ts';
import { topicSpec } from '../log/partition.ts';
import type {
  ActiveSubscription,
  DeathCount,
  EventLog,
  LogRecord,
  Subscription,
  SubscriptionState,
} from '../log/port.ts';
import { createPeriodicYield } from '../process/event-loop.ts';
import type { Metrics } from '../process/metrics.ts';
import { act } from './act.ts';
import { type ConsumerMetrics, consumerMetrics } from './consumer-metrics.ts';
import { type CrashMarks, giveUp, isDeadly, whileMarked } from './dead-letters/crash-marks.ts';
import type { DeadLetters, FailedMessage } from './dead-letters/dead-letters.ts';
import { createFloodGuard, type FloodGuard } from './dead-letters/flood-guard.ts';
import {
  decide,
  type Handled,
  type Handlers,
  type OnEvent,
  type OnOutputs,
  type OnOvertaken,
  type OnRejection,
} from './decide.ts';
import {
  type Ahead,
  type BacklogLookAhead,
  createBacklogLookAhead,
  type LookAhead,
  lookAhead,
  NOTHING_AHEAD,
  readAlone,
} from './look-ahead.ts';
import { recordMessage } from './message-spans.ts';
import { type ParseRecord, parseBelieved } from './parse/parse-believed.ts';
import { topicIdOf } from './parse/parse-record.ts';
import type { Publisher } from './publisher.ts';
import type { Trust } from './trust/trust.ts';

export interface ConsumerSettings
  extends Pick<Subscription, 'group' | 'start' | 'assignment' | 'maxSliceRecords'> {
  /** Short name for logs and metrics, e.g. `image-gc`. */
  readonly name: string;
  readonly log: EventLog;
  /** Whose messages count. */
  readonly trust: Trust;
  /** By topic; the consumer subscribes to these topics. */
  readonly handlers: Handlers;
  /** Who watches beside the handlers; nobody when not given. */
  readonly onEvent?: OnEvent;
  /** Who watches what follows; nobody when not given. */
  readonly onOutputs?: OnOutputs;
  /** What to publish beside the dead letter about a message that is no event; nothing when not given. */
  readonly onRejection?: OnRejection;
  /** What to publish about a message instead of handling it, where one that lies behind it overtakes it. */
  readonly onOvertaken?: OnOvertaken;
  /** Resolves when a slice may be begun, or when the signal aborts; at once when not given. */
  readonly mayBegin?: (signal: AbortSignal) => Promise<void>;
  readonly publisher: Publisher;
  readonly deadLetters: DeadLetters;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Count which processes ended over a message. A reader for one key commits nothing, so it needs marks of its own; a group passes `NO_MARKS`, since the log counts for it. */
  readonly marks: CrashMarks;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds of a clock that does not jump. */
  readonly monotonicNow: () => number;
}

/** A running consumer. */
export interface Consumer extends ActiveSubscription {
  /** Why it does not process messages at the moment, in a sentence; `null` while it does. */
  problem(): string | null;
}

/**
 * Subscribes the handlers. A message takes four hops: it is parsed, decided on, acted on and acknowledged, in this order: the
 * offsets of a slice are committed only after everything that follows from it was acknowledged by the log.
 */
export async function startConsumer(settings: ConsumerSettings): Promise<Consumer> {
  const { log, handlers, group, start, assignment, maxSliceRecords } = settings;
  const topics = Object.values(TOPICS)
    .map(({ name }) => name)
    .filter((name) => handlers[topicIdOf(name)] !== undefined);
  const guard = createFloodGuard();
  const counts = consumerMetrics(settings.metrics, settings.name, topics);
  const subscribed = Promise.withResolvers<ActiveSubscription>();
  const slices = new SliceConsumer(settings, {
    guard,
    counts,
    state: async () => (await subscribed.promise).state(),
  });
  const subscription = await log.subscribe(
    { group, topics, start, assignment, ...(maxSliceRecords !== undefined && { maxSliceRecords }) },
    (records, signal, inHand) => slices.consume(records, { signal, inHand }),
  );
  subscribed.resolve(subscription);
  counts.watch(subscription, guard);
  return {
    state: () => subscription.state(),
    problem: () => problemOf(subscription, guard),
    stop: () => subscription.stop(),
    finished: subscription.finished,
    [Symbol.asyncDispose]: () => subscription.stop(),
  };
}

function problemOf(subscription: ActiveSubscription, guard: FloodGuard): string | null {
  const { joined, problem } = subscription.state();
  return guard.problem() ?? problem ?? (joined ? null : 'has not joined its group yet');
}

interface Around {
  readonly guard: FloodGuard;
  readonly counts: ConsumerMetrics;
  readonly state: () => Promise<SubscriptionState>;
}

interface Slice {
  readonly signal: AbortSignal;
  readonly inHand: DeathCount;
}

/** Consumes consecutive records of one partition together, a slice. To return is to acknowledge them. */
class SliceConsumer {
  readonly #settings: ConsumerSettings;
  readonly #guard: FloodGuard;
  readonly #counts: ConsumerMetrics;
  readonly #marks: CrashMarks;
  /** Runs the handlers of one slice. */
  readonly #inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  readonly #parse: ParseRecord;
  readonly #yieldToEventLoop: () => Promise<void>;
  readonly #lookAhead: BacklogLookAhead;

  constructor(settings: ConsumerSettings, { guard, counts, state }: Around) {
    const { log, logger, trust, monotonicNow, assignment, onOvertaken, marks } = settings;
    this.#settings = settings;
    this.#guard = guard;
    this.#counts = counts;
    this.#marks = marks;
    this.#parse = parseBelieved(trust);
    this.#inTurn = assignment.kind === 'shared' ? pLimit(1) : (work) => work();
    this.#yieldToEventLoop = createPeriodicYield(monotonicNow);
    this.#lookAhead = onOvertaken
      ? createBacklogLookAhead({
          log,
          state,
          logger,
          parse: this.#parse,
          yieldToEventLoop: this.#yieldToEventLoop,
        })
      : async () => NOTHING_AHEAD;
  }

  async consume(records: readonly LogRecord[], slice: Slice): Promise<void> {
    await this.#settings.mayBegin?.(slice.signal);
    if (slice.signal.aborted) return;
    const { own, misplaced, others } = sortSlice(records, this.#settings.assignment);
    this.#counts.passedOver(others);
    await this.#consumeOwn(own, slice);
    if (slice.signal.aborted || misplaced.length === 0) return;
    await this.#settings.deadLetters.write(misplaced);
    this.#account(misplaced.map(withoutOutputs), misplaced);
  }

  async #consumeOwn(records: readonly LogRecord[], slice: Slice): Promise<void> {
    const [first] = records;
    if (first === undefined) return;
    const { publisher, deadLetters, monotonicNow } = this.#settings;
    const report = this.#guard.admit(`${first.topic}/${first.partition}`, monotonicNow());
    const ahead = await this.#lookAhead(records, slice.signal);
    const handled = await this.#inTurn(() => this.#liveThrough({ records, ahead }, slice));
    if (handled === null) return;
    const unsent = await act(handled, publisher);
    const failed = [...handled.flatMap(({ failure }) => failure ?? []), ...unsent];
    await deadLetters.write(failed);
    this.#account(handled, failed);
    this.#reportFlood(report(outcomesOf(handled, failed), monotonicNow()));
  }

  /** Parsing and deciding are what a message can end a process by; what comes after waits for the log, for as long as it is away. */
  async #liveThrough(given: Given, { signal, inHand }: Slice): Promise<readonly Handled[] | null> {
    if (isDeadly(inHand.deaths)) return given.records.map((record) => giveUp(record, inHand.deaths));
    await inHand.begin();
    try {
      return await this.#handleAll(given, signal);
    } finally {
      // The slice of another partition may take so long that the group is lost: then this one has nothing to do with it.
      await inHand.end();
    }
  }

  /**
   * Deciding is computing. If slices took turns record by record, the first would be published after the last was decided,
   * and if nothing came between them, no heartbeat would go out: on a busy machine with a backlog the group would be lost
   * before anything was committed, again and again.
   *
   * `null` when the partition was lost or the process stops meanwhile: then nothing is to follow.
   */
  async #handleAll({ records, ahead }: Given, signal: AbortSignal): Promise<readonly Handled[] | null> {
    const handled: Handled[] = [];
    const read = this.#settings.onOvertaken ? lookAhead(records, this.#parse, ahead) : readAlone(this.#parse);
    for (const record of records) {
      if (signal.aborted) return null;
      handled.push(await this.#handle(record, read));
      await this.#yieldToEventLoop();
    }
    return signal.aborted ? null : handled;
  }

  async #handle(record: LogRecord, read: LookAhead): Promise<Handled> {
    const topic = topicIdOf(record.topic);
    const { monotonicNow, publisher, group, now } = this.#settings;
    const beginMs = monotonicNow();
    const handled = await whileMarked(this.#marks, record, () => decide(topic, read(record), this.#settings));
    const tookMs = monotonicNow() - beginMs;
    this.#counts.handled(topic, tookMs);
    const { tracer } = publisher;
    if (tracer !== null) recordMessage(handled, tookMs, { tracer, group, now });
    this.#counts.read(topic, record.timestampMs);
    return handled;
  }

  #account(handled: readonly Handled[], failed: readonly FailedMessage[]): void {
    const { name, logger, now } = this.#settings;
    const causes = new Map(failed.map(({ record, cause }) => [record, cause]));
    for (const { record, stages, isOvertaken } of handled) {
      const { topic, key, offset, timestampMs } = record;
      const outcome = causes.get(record) ?? (isOvertaken ? 'overtaken' : 'processed');
      this.#counts.done(topicIdOf(topic), outcome, now() - timestampMs);
      const published = stages.flat().map((output) => output.headers.ce_id);
      logger.debug({ consumer: name, topic, key, offset: String(offset), published }, 'processed');
    }
  }

  #reportFlood(change: 'paused' | 'resumed' | null): void {
    const { name, logger } = this.#settings;
    if (change === 'paused') logger.error({ consumer: name }, this.#guard.problem() ?? change);
    if (change === 'resumed') logger.info({ consumer: name }, 'messages can be processed again');
  }
}

interface Given {
  readonly records: readonly LogRecord[];
  readonly ahead: Ahead;
}

/** What becomes of a message that nothing follows from. */
const withoutOutputs = (failure: FailedMessage): Handled => ({
  record: failure.record,
  stages: [],
  failure,
  isOvertaken: false,
});

/** Of each message whose it was, and whether it failed. */
function outcomesOf(handled: readonly Handled[], failed: readonly FailedMessage[]) {
  const failures = new Set(failed.map(({ record }) => record));
  return handled.map(({ record }) => ({ key: record.key, failed: failures.has(record) }));
}

/** The records of a slice, by whose business they are. */
interface Sorted {
  readonly own: readonly LogRecord[];
  /** Nobody's by their key, or without one that can be read: no other consumer would answer for them. */
  readonly misplaced: readonly FailedMessage[];
  /** Of other nodes, which share the partition and answer for them, bad ones included. */
  readonly others: number;
}

/** Nodes share partitions: who reads for one key leaves the others' records alone, unparsed. */
function sortSlice(records: readonly LogRecord[], assignment: Subscription['assignment']): Sorted {
  const lost = records.flatMap((record) => unreadableOf(record) ?? []);
  const readable = lost.length === 0 ? records : records.filter(({ unreadable }) => unreadable === undefined);
  if (assignment.kind === 'shared') return { own: readable, misplaced: lost, others: 0 };
  const own = readable.filter(({ key }) => key === assignment.key);
  const keyless = readable
    .filter(({ topic, key }) => subjectOf(topicSpec(topic), key) === null)
    .map(misplacement);
  const misplaced = [...lost, ...keyless];
  return { own, misplaced, others: records.length - own.length - misplaced.length };
}

/** Whose limit of dead letters they share: any number of keys can be made up. */
const NOBODY = '';

const unreadableOf = (record: LogRecord): FailedMessage | null =>
  record.unreadable === undefined
    ? null
    : { record, cause: 'unreadable-batch', message: record.unreadable, limitedAs: NOBODY };

/** Only the key is looked at: whoever may write for one node would else have every node of its partition read what it wrote. */
const misplacement = (record: LogRecord): FailedMessage => ({
  record,
  cause: 'key-mismatch',
  message: `the key of the record names no ${subjectKindOf(topicSpec(record.topic)) ?? 'subject'}, so nobody takes it`,
  limitedAs: NOBODY,
});
