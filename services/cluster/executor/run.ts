import type { Logger } from 'pino';
import { z } from 'zod';
import { clusterOutput } from '../../../packages/decision/handler.ts';
import { clusterRejectedResultId } from '../../../packages/decision/result-ids.ts';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import { partitionOf } from '../../../packages/log/partition.ts';
import type { EventLog, LogReader } from '../../../packages/log/port.ts';
import { type RetryBackoff, retried } from '../../../packages/process/backoff.ts';
import { HOUR_MS } from '../../../packages/process/durations.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { LinkedController } from '../../../packages/process/linked-controller.ts';
import { untilAborted } from '../../../packages/process/loops.ts';
import type { Metrics } from '../../../packages/process/metrics.ts';
import type { Sources } from '../../../packages/process/system-sources.ts';
import { newTrace, nextHop } from '../../../packages/process/trace.ts';
import type { Tracer } from '../../../packages/process/tracer.ts';
import { answerRejected, distrustOf, selectInForce } from '../../../packages/records/commands.ts';
import { type Consumer, type ConsumerSettings, startConsumer } from '../../../packages/records/consume.ts';
import type { CrashMarks } from '../../../packages/records/dead-letters/crash-marks.ts';
import type { DeadLetters } from '../../../packages/records/dead-letters/dead-letters.ts';
import type { OnRejection } from '../../../packages/records/decide.ts';
import { sendSpan } from '../../../packages/records/message-spans.ts';
import { parseBelieved } from '../../../packages/records/parse/parse-believed.ts';
import type { Publisher } from '../../../packages/records/publisher.ts';
import { readPartition } from '../../../packages/records/read-log.ts';
import type { Trust } from '../../../packages/records/trust/trust.ts';
import type { ClusterInstant } from '../../../schemas/events/cluster-objects.ts';
import { EventId } from '../../../schemas/events/event-id.ts';
import { type ClusterIdentity, SUBJECTS } from '../../../schemas/events/identity.ts';
import { MAX_COMMAND_LIFETIME_MS } from '../../../schemas/events/subject-headers.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { PolicySetOf } from '../../../schemas/policy/policy.ts';
import { LocalHold } from './command-checks.ts';
import { ClusterExecutor } from './executor.ts';
import { type OpenIntent, OpenIntents } from './intents.ts';
import { cut } from './order.ts';
import type { IndexSource, Outgoing, ResultEvent } from './ports.ts';
import { type RecentResults, recentResults } from './recent-results.ts';

export interface RunClusterExecutor {
  readonly identity: ClusterIdentity;
  readonly connection: ApiConnection;
  /** The agent of the same process, where there is one. */
  readonly index: IndexSource | null;
  /** Throws `POLICIES_UNREADABLE` while nobody can tell. */
  readonly policies: () => PolicySetOf<'cluster'>;
  readonly log: EventLog;
  readonly trust: Trust;
  readonly publisher: Publisher;
  readonly deadLetters: DeadLetters;
  /** Counts who ended over a message. */
  readonly marks: CrashMarks;
  readonly sources: Sources;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly requestsPerSecond: number;
  /** The file of the cluster's own people; `null` where none was named. */
  readonly localFile: string | null;
  /** Told of the consumer once it runs, for readiness. */
  readonly onStarted: (consumer: Consumer) => void;
}

/** What an executor is called where it reads; no other one shares it. */
export const executorGroup = ({ clusterInstance }: ClusterIdentity): string =>
  `fleetgc-cluster-${clusterInstance}`;

/** How an executor reads its orders: the partition of its cluster, from before every order that can still be alive. */
const subscriptionOf = (
  identity: ClusterIdentity,
): Pick<ConsumerSettings, 'group' | 'start' | 'assignment'> => ({
  group: executorGroup(identity),
  start: 'latest',
  assignment: {
    kind: 'key',
    key: SUBJECTS.cluster.keyOf(identity),
    lookBackMs: MAX_COMMAND_LIFETIME_MS,
  },
});

/** Carries out orders about one cluster until `signal` aborts. */
export async function runClusterExecutor(deps: RunClusterExecutor, signal: AbortSignal): Promise<void> {
  const { identity, log, trust, publisher, deadLetters, sources, logger, metrics, onStarted } = deps;
  const recent = await journalOf(deps, signal);
  const executor = new ClusterExecutor({
    identity,
    executor: sources.newId(),
    connection: deps.connection,
    index: deps.index,
    localHold: localHoldOf(deps),
    policy: () => selectInForce(deps.policies, identity),
    objectionTo: (keyId) =>
      distrustOf(trust, 'clusterCommands', { keyId, key: SUBJECTS.cluster.keyOf(identity) }),
    recent,
    publish: (events) => publish(publisher, events, sources.now),
    save: (removed, trace) =>
      publisher.publish([clusterOutput('clusterRemoved', removed)], trace ?? undefined),
    sleep: sources.wait,
    random: sources.random,
    nowMs: sources.monotonicNow,
    logger,
    metrics,
    requestsPerSecond: deps.requestsPerSecond,
  });
  await using consumer = await startConsumer({
    ...subscriptionOf(identity),
    name: 'cluster-executor',
    log,
    trust,
    handlers: { clusterCommands: executor.commands },
    onRejection: refuseRejected(identity, () => executor.at()),
    publisher,
    deadLetters,
    marks: deps.marks,
    logger,
    metrics,
    now: sources.now,
    monotonicNow: sources.monotonicNow,
  });
  onStarted(consumer);
  using ending = new LinkedController(signal);
  const running = executor.run(ending.signal);
  const watching = executor.instance.watch(deps.connection, sources.wait, ending.signal);
  const earlier = earlierIntents(deps, executor, ending.signal);
  try {
    await Promise.race([consumer.finished, running, watching, earlier]);
  } finally {
    // Also when the consumer failed, what is in hand is finished.
    ending.abort();
    await running;
  }
}

function localHoldOf({ localFile, logger }: RunClusterExecutor): () => string | null {
  if (localFile === null) return () => null;
  const hold = new LocalHold(localFile, logger);
  // Said at once, and not with the first command.
  hold.objection();
  return () => hold.objection();
}

const JOURNAL_BACKOFF: RetryBackoff = { firstMs: 500, mostMs: 30_000 };

/** Nothing is done before it is read. */
const journalOf = (
  { identity, connection, log, trust, sources, logger }: RunClusterExecutor,
  signal: AbortSignal,
): Promise<RecentResults> =>
  retried(
    () => readRecentResults({ identity, log, trust, nowMs: earliestNow(connection, sources) }, signal),
    {
      backoff: JOURNAL_BACKOFF,
      sleep: sources.wait,
      random: sources.random,
      onFailure: (error) => logger.warn({ err: error }, 'what was done in the past hour cannot be read yet'),
    },
    signal,
  );

/** What was announced before the past hour harms nobody in the meantime: its commands are over. */
async function earlierIntents(
  { identity, log, trust, sources, logger }: RunClusterExecutor,
  executor: ClusterExecutor,
  signal: AbortSignal,
): Promise<void> {
  try {
    const open = await retried(
      () => readOpenIntents({ identity, log, trust }, signal),
      {
        backoff: JOURNAL_BACKOFF,
        sleep: sources.wait,
        random: sources.random,
        onFailure: (error) => logger.warn({ err: error }, 'earlier intents cannot be read yet'),
      },
      signal,
    );
    executor.settle(open);
  } catch (thrown) {
    // What is left open is told by "audit verify".
    if (!signal.aborted)
      logger.error(
        { err: toFleetGcError(thrown) },
        'intents of more than an hour ago cannot be read, and are not settled',
      );
  }
  await untilAborted(signal);
}

async function publish(
  publisher: Publisher,
  events: readonly Outgoing[],
  now: Sources['now'],
): Promise<void> {
  const startMs = now();
  await publisher.send(
    events.flatMap(({ event, trace }) =>
      publisher.records([clusterOutput('clusterResults', event)], trace ?? newTrace(publisher.ids)),
    ),
  );
  if (publisher.tracer !== null) recordResults(publisher.tracer, events, { startMs, endMs: now() });
}

/** Of what became of commands: that it is on the log. */
function recordResults(
  tracer: Tracer,
  events: readonly Outgoing[],
  times: { readonly startMs: number; readonly endMs: number },
): void {
  for (const { event, trace } of events) {
    if (trace === null || event.type !== 'fleetgc.cluster.command-result') continue;
    const { outcome } = event.result;
    const context = nextHop(trace, tracer.ids);
    const span = sendSpan({ topic: 'clusterResults', event, context, parent: trace, ...times });
    const attributes = { 'fleetgc.command.id': event.commandId, 'fleetgc.command.outcome': outcome };
    tracer.record({ ...span, attributes: { ...span.attributes, ...attributes } });
  }
}

interface ReadingResults {
  readonly identity: ClusterIdentity;
  readonly log: LogReader;
  readonly trust: Trust;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/**
 * Epoch milliseconds that are not too late: a machine whose clock is ahead would not find what was told just now. The log's clock is
 * near that of the API server.
 */
export const earliestNow = (
  { clock }: Pick<ApiConnection, 'clock'>,
  { now, monotonicNow }: Pick<Sources, 'now' | 'monotonicNow'>,
): number => Math.min(now(), clock.at(monotonicNow())?.earliestMs ?? Number.POSITIVE_INFINITY);

/**
 * What this cluster's executor told in the past hour: its journal. What is forged there makes it do less, never more: commands count
 * as answered, and removals as made.
 */
export async function readRecentResults(
  { identity, log, trust, nowMs }: ReadingResults,
  signal: AbortSignal,
): Promise<RecentResults> {
  const events: ResultEvent[] = [];
  for await (const event of resultsFrom({ identity, log, trust, fromMs: nowMs - HOUR_MS }, signal))
    events.push(event);
  return recentResults(events);
}

/** What was announced at any time that the log remembers, and of which no result tells. Reads all that the log has of its results. */
export async function readOpenIntents(
  reading: Omit<ReadingResults, 'nowMs'>,
  signal: AbortSignal,
): Promise<readonly OpenIntent[]> {
  const intents = new OpenIntents();
  for await (const event of resultsFrom({ ...reading, fromMs: null }, signal)) intents.take(event);
  return intents.open();
}

type Reading = Omit<ReadingResults, 'nowMs'> & { readonly fromMs: number | null };

async function* resultsFrom(
  { identity, log, trust, fromMs }: Reading,
  signal: AbortSignal,
): AsyncGenerator<ResultEvent, void> {
  const key = SUBJECTS.cluster.keyOf(identity);
  const partition = partitionOf(TOPICS.clusterResults.name, key);
  const parse = parseBelieved(trust);
  const range = { fromMs, toMs: null };
  for await (const { record } of readPartition(
    log,
    { topics: ['clusterResults'], partition, range },
    signal,
  )) {
    if (record.key !== key) continue;
    const parsed = parse('clusterResults', record);
    if (parsed.ok && parsed.event.clusterInstance === identity.clusterInstance) yield parsed.event;
  }
}

/** What can be told of a command that is none: nothing of it is believed beyond its names. */
const Named = z.object({
  id: EventId.optional().catch(undefined),
  decisionId: EventId.nullable().catch(null),
});
const NAMELESS = { id: undefined, decisionId: null } as const;

/** What a message on this cluster's key gets that is no command. Its id follows from the message and the reason. */
export const refuseRejected = (identity: ClusterIdentity, at: () => ClusterInstant | null): OnRejection =>
  answerRejected({
    topic: 'clusterCommands',
    key: SUBJECTS.cluster.keyOf(identity),
    named: (value) => Named.safeParse(value).data ?? NAMELESS,
    refused: ({ id: commandId, decisionId }, { reason, message }) => {
      const refusal = { reason, message: cut(message) };
      return clusterOutput('clusterResults', {
        type: 'fleetgc.cluster.command-result',
        version: 1,
        id: clusterRejectedResultId({ ...identity, commandId }, refusal),
        ...identity,
        at: at(),
        commandId,
        decisionId,
        result: { outcome: 'refused', ...refusal },
      });
    },
  });
