import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { InHand } from '../event-log/in-hand.ts';
import type { ActiveSubscription, EventLog, LogRecord, Subscription } from '../event-log/port.ts';
import { FleetGcError } from '../process/errors.ts';
import { createBreath } from '../process/event-loop.ts';
import type { Metrics } from '../process/metrics.ts';
import { createFarLook, type FarLook } from './catching-up/far-look.ts';
import { type Ahead, type LookAhead, lookAhead, NOTHING_AHEAD, readAlone } from './catching-up/look-ahead.ts';
import { type ConsumerMetrics, consumerMetrics } from './consumer-metrics.ts';
import { type CrashMarks, NO_MARKS } from './dead-letters/crash-marks.ts';
import type { DeadLetters, FailedMessage } from './dead-letters/dead-letters.ts';
import { isDeadly, passedOver } from './dead-letters/deadly-record.ts';
import { createFloodGuard, type FloodGuard } from './dead-letters/flood-guard.ts';
import {
  type Handled,
  type Handlers,
  handleSeen,
  type OnEvent,
  type OnOvertaken,
  type OnRejection,
} from './handle-record.ts';
import { sortRecords } from './own-records.ts';
import { topicIdOf } from './parse/event-schemas.ts';
import type { Publisher } from './publisher.ts';
import { mergeStages } from './stage-merge.ts';

export interface ConsumerSettings
  extends Pick<Subscription, 'group' | 'start' | 'assignment' | 'maxSliceRecords'> {
  /** Short name for logs and metrics, e.g. `image-gc`. */
  readonly name: string;
  readonly log: EventLog;
  /** By topic; the consumer subscribes to these topics. */
  readonly handlers: Handlers;
  /** Who watches beside the handlers; nobody when not given. */
  readonly onEvent?: OnEvent;
  /** What to publish beside the dead letter about a message that is no event; nothing when not given. */
  readonly onRejection?: OnRejection;
  /** What to publish about a message instead of handling it, where one that lies behind it overtakes it. */
  readonly onOvertaken?: OnOvertaken;
  readonly publisher: Publisher;
  readonly deadLetters: DeadLetters;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** For who reads for one key: counts who ended over a message. Nobody counts when not given. */
  readonly marks?: CrashMarks;
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

interface Work extends ConsumerSettings {
  readonly marks: CrashMarks;
  readonly guard: FloodGuard;
  readonly counts: ConsumerMetrics;
  /** Runs the handlers of one slice. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  readonly breathe: () => Promise<void>;
  readonly farLook: FarLook;
}

/**
 * Subscribes the handlers. Each slice of records is parsed, handled, acted on and acknowledged, in this order: its
 * offsets are committed only after everything that follows from it was acknowledged by the log.
 */
export async function startConsumer(settings: ConsumerSettings): Promise<Consumer> {
  const { log, handlers, group, start, assignment, maxSliceRecords } = settings;
  const topics = Object.values(TOPICS)
    .map(({ name }) => name)
    .filter((name) => handlers[topicIdOf(name)] !== undefined);
  const guard = createFloodGuard();
  const breathe = createBreath(settings.monotonicNow);
  const subscribed = Promise.withResolvers<ActiveSubscription>();
  const state = async () => (await subscribed.promise).state();
  const work: Work = {
    marks: NO_MARKS,
    ...settings,
    guard,
    counts: consumerMetrics(settings.metrics, settings.name),
    inTurn: assignment.kind === 'shared' ? pLimit(1) : (handle) => handle(),
    breathe,
    farLook: settings.onOvertaken
      ? createFarLook({ log, state, logger: settings.logger, breathe })
      : async () => NOTHING_AHEAD,
  };
  const subscription = await log.subscribe(
    { group, topics, start, assignment, ...(maxSliceRecords !== undefined && { maxSliceRecords }) },
    (records, signal, inHand) => processSlice(work, records, { signal, inHand }),
  );
  subscribed.resolve(subscription);
  work.counts.watch(subscription, guard);
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

interface Slice {
  readonly signal: AbortSignal;
  readonly inHand: InHand;
}

/** Parse and decide (handle), act, give up on what cannot be processed; to return is to acknowledge. */
async function processSlice(work: Work, records: readonly LogRecord[], slice: Slice): Promise<void> {
  const { own, misplaced, others } = sortRecords(records, work.assignment);
  work.counts.passedOver(others);
  await processOwn(work, own, slice);
  if (slice.signal.aborted || misplaced.length === 0) return;
  await work.deadLetters.write(misplaced);
  account(work, misplaced.map(withoutOutputs), misplaced);
}

const withoutOutputs = (failure: FailedMessage): Handled => ({
  record: failure.record,
  stages: [],
  failure,
  isOvertaken: false,
});

async function processOwn(work: Work, records: readonly LogRecord[], slice: Slice): Promise<void> {
  const [first] = records;
  if (first === undefined) return;
  const report = work.guard.admit(`${first.topic}/${first.partition}`, work.monotonicNow());
  const ahead = await work.farLook(records, slice.signal);
  const handled = await work.inTurn(() => livedThrough(work, { records, ahead }, slice));
  if (handled === null) return;
  const unsent = await act(handled, work.publisher);
  const failed = [...handled.flatMap(({ failure }) => failure ?? []), ...unsent];
  await work.deadLetters.write(failed);
  account(work, handled, failed);
  tellOfFlood(work, report(outcomesOf(handled, failed), work.monotonicNow()));
}

/** Parsing and deciding are what a message can end a process by; what comes after waits for the log, for as long as it is away. */
async function livedThrough(
  work: Work,
  given: Given,
  { signal, inHand }: Slice,
): Promise<readonly Handled[] | null> {
  if (isDeadly(inHand.deaths)) return given.records.map((record) => passedOver(record, inHand.deaths));
  await inHand.begin();
  try {
    return await handleAll(work, given, signal);
  } finally {
    inHand.end();
  }
}

interface Given {
  readonly records: readonly LogRecord[];
  readonly ahead: Ahead;
}

/**
 * Deciding is computing. If slices took turns record by record, the first would be published after the last was decided,
 * and if nothing came between them, no heartbeat would go out: on a busy machine with a backlog the group would be lost
 * before anything was committed, again and again.
 *
 * `null` when the partition was lost or the process stops meanwhile: then nothing is to follow.
 */
async function handleAll(
  work: Work,
  { records, ahead }: Given,
  signal: AbortSignal,
): Promise<readonly Handled[] | null> {
  const handled: Handled[] = [];
  const see = work.onOvertaken ? lookAhead(records, ahead) : readAlone;
  for (const record of records) {
    if (signal.aborted) return null;
    handled.push(await handleInTime(work, record, see));
    await work.breathe();
  }
  return signal.aborted ? null : handled;
}

async function handleInTime(work: Work, record: LogRecord, see: LookAhead): Promise<Handled> {
  const topic = topicIdOf(record.topic);
  const beginMs = work.monotonicNow();
  const handled = await handleMarked(work, record, () => handleSeen(topic, see(record), work));
  work.counts.handled(topic, work.monotonicNow() - beginMs);
  return handled;
}

async function handleMarked(
  { marks }: Work,
  record: LogRecord,
  handle: () => Promise<Handled>,
): Promise<Handled> {
  const deaths = marks.deathsOf(record);
  if (isDeadly(deaths)) return passedOver(record, deaths);
  marks.begin(record);
  try {
    return await handle();
  } finally {
    marks.end();
  }
}

/** Publishes what was handled, stage by stage. Returns the messages whose outputs the log can never take. */
async function act(handled: readonly Handled[], publisher: Publisher): Promise<readonly FailedMessage[]> {
  try {
    for (const stage of mergeStages(handled.map(({ stages }) => stages))) await publisher.send(stage);
    return [];
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    return await actOneByOne(handled, publisher);
  }
}

/** One output is too large: finds whose it is, so that the others of the slice go out. */
async function actOneByOne(
  handled: readonly Handled[],
  publisher: Publisher,
): Promise<readonly FailedMessage[]> {
  const failed: FailedMessage[] = [];
  for (const { record, stages } of handled) {
    try {
      for (const stage of stages) await publisher.send(stage);
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      failed.push({ record, cause: 'handler-failed', message: error.message });
    }
  }
  return failed;
}

const isTooLarge = (error: unknown): error is FleetGcError =>
  error instanceof FleetGcError && error.code === 'LOG_RECORD_TOO_LARGE';

function outcomesOf(handled: readonly Handled[], failed: readonly FailedMessage[]) {
  const failures = new Set(failed.map(({ record }) => record));
  return handled.map(({ record }) => ({ key: record.key, failed: failures.has(record) }));
}

function account(work: Work, handled: readonly Handled[], failed: readonly FailedMessage[]): void {
  const causes = new Map(failed.map(({ record, cause }) => [record, cause]));
  for (const { record, stages, isOvertaken } of handled) {
    const { topic, key, offset, timestampMs } = record;
    const outcome = causes.get(record) ?? (isOvertaken ? 'overtaken' : 'processed');
    work.counts.done(topicIdOf(topic), outcome, work.now() - timestampMs);
    const published = stages.flat().map((output) => output.headers.ce_id);
    work.logger.debug({ consumer: work.name, topic, key, offset: String(offset), published }, 'processed');
  }
}

function tellOfFlood(work: Work, change: 'paused' | 'resumed' | null): void {
  if (change === 'paused') work.logger.error({ consumer: work.name }, work.guard.problem() ?? change);
  if (change === 'resumed') work.logger.info({ consumer: work.name }, 'messages can be processed again');
}
