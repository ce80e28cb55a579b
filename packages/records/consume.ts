import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { TOPICS } from '../../schemas/events/topics.ts';
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
import { type BacklogLookAhead, createBacklogLookAhead } from './catching-up/backlog-look-ahead.ts';
import {
  type Ahead,
  type LookAhead,
  lookAhead,
  NOTHING_AHEAD,
  readAlone,
} from './catching-up/slice-look-ahead.ts';
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
import { recordMessage } from './message-spans.ts';
import { outcomesOf, withoutOutputs } from './outcomes.ts';
import { topicIdOf } from './parse/event-schemas.ts';
import { type ParseRecord, parseBelieved } from './parse/parse-believed.ts';
import { sortSlice } from './parse/sort-slice.ts';
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
