import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SimulatedNodeOptions, startSimulatedNode } from '../../../lab/sim/node.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { openEmbeddedLog } from '../../../packages/log/embedded.ts';
import type { LogRecord, OutgoingRecord } from '../../../packages/log/port.ts';
import { pause as realWait } from '../../../packages/process/backoff.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import { startTrust, type TrustChoice } from '../../../packages/records/trust/process-trust.ts';
import { type Signer, UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { type EventOf, TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import { type PauseRecord, type Policy, type PolicySet, pauseKey } from '../../../schemas/policy/policy.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { deletionOutput, pauseRecord } from '../../fixtures/policy.ts';
import { memoryState } from '../../services/node/executor/support/memory-state.ts';
import { logLines } from '../../support/log-lines.ts';
import { countedIds, outgoing } from '../../support/logs/log-record.ts';
import { patiently } from '../../support/patience.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type DeciderRun, startDeciders } from './deciders.ts';
import { type NodeRun, startNode } from './node-run.ts';
import { pipelineTime } from './pipeline-time.ts';
import type { Surroundings } from './surroundings.ts';
import { watchedLog } from './watched-log.ts';

export type SignState = (record: OutgoingRecord) => OutgoingRecord;

export interface PipelineOptions {
  /** What differs from the defaults of a policy; `null` for none at all. */
  readonly policy?: Partial<Policy> | null;
  readonly node?: Partial<SimulatedNodeOptions>;
  /** How often the deciders read all policies again. */
  readonly recheckMs?: number;
  /** Whose messages count; everybody's when not given. */
  readonly trust?: TrustChoice;
  /** What lies on `gc.keys` from the beginning. */
  readonly statements?: readonly OutgoingRecord[];
  /** Signs what the node reports; nobody does when not given. */
  readonly nodeSigner?: Signer;
  /** Signs policies and pauses. */
  readonly operator?: SignState;
  /** What the log may hold. */
  readonly logBytes?: number;
}

const BOUND_MS = 10_000;
/** For what hangs. A test of the whole pipeline takes a second of a processor, which a busy machine may not have. */
export const TEST_BOUND_MS = patiently(90_000);
const LOG_BYTES = 64 * 1024 * 1024;
/** The disk of a node, when a test says nothing else. */
const CAPACITY_BYTES = 10_000_000_000n;

export type Pipeline = Awaited<ReturnType<typeof startPipeline>>;

/** Everything between a node's CRI socket and the event log, on one simulated node and the embedded log. */
export async function startPipeline({
  policy = {},
  node: over = {},
  recheckMs,
  trust: choice = { kind: 'off' },
  statements = [],
  nodeSigner = UNSIGNED,
  operator = (record) => record,
  logBytes = LOG_BYTES,
}: PipelineOptions = {}) {
  const cleanup = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-line-'));
  cleanup.defer(() => rmSync(directory, { recursive: true, force: true }));
  const lines = logLines();
  const logger = createLogger({ service: 'test', level: 'debug' }, lines);
  const context = { logger, now: Date.now, random: () => 0, newId: randomUUID };
  const log = watchedLog(
    await openEmbeddedLog({ path: join(directory, 'log.db'), maxBytes: logBytes }, context),
  );
  cleanup.use(log);
  await log.createTopics();
  await log.publish(statements);
  const trust = startTrust({
    choice,
    log,
    logger,
    metrics: createMetrics(),
    sources: { now: () => performance.now(), random: () => 0, wait: realWait },
    nowMs: Date.now,
  });
  cleanup.use(trust);
  await trust.keys?.caughtUp;

  const nodeRuns = new Set<NodeRun>();
  let deciders: DeciderRun | null = null;
  const busyWith = (): string | null =>
    log.busyWith() ?? [...nodeRuns].map((run) => run.busyWith()).find((work) => work !== null) ?? null;
  const time = pipelineTime(busyWith);
  const node = await startSimulatedNode({
    name: 'web-1',
    directory,
    clock: time,
    capacityBytes: CAPACITY_BYTES,
    ...over,
  });
  cleanup.use(node);
  const state = memoryState();
  const localFile = join(directory, 'node.yaml');
  const surroundings: Surroundings = {
    time,
    log,
    logger,
    ids: countedIds(),
    trust,
    nodeSigner,
    now: Date.now,
    monotonicNow: () => performance.now(),
    random: () => 0,
    wait: realWait,
  };

  const policySources = () => [...(deciders ? [deciders] : []), ...nodeRuns].map(({ policies }) => policies);
  /** Writes to `gc.policies` and waits until every process knows. */
  const write = async (key: string, record: Parameters<typeof toOutgoing>[1]): Promise<void> => {
    const before = policySources().map((source) => source.current.node().hash);
    await log.publish([operator(toOutgoing(key, record))]);
    await waitUntil('the policies to be known everywhere', BOUND_MS, () =>
      policySources().every((source, index) => source.current.node().hash !== before[index]),
    );
  };
  const pipeline = {
    time,
    node,
    log,
    state,
    lines: lines.lines,
    directory,
    /** As the first process knows them. */
    policies: (): PolicySet => policySources()[0]?.current.node() ?? policySet('node', [], []),
    /** As the processes know them; `null` where none count. */
    keys: () => trust.keys?.ring() ?? null,
    policyProblem: (): string | null => deciders?.policies.problem() ?? null,
    applyPolicy: (changes: Partial<Policy>) => {
      const record = appliedPolicy(changes);
      return write(record.policy.name, record);
    },
    deletePolicy: (name = 'default') => write(name, null),
    pause: (record: PauseRecord = pauseRecord()) => write(pauseKey(record.selector), record),
    resume: (record: PauseRecord = pauseRecord()) => write(pauseKey(record.selector), null),
    writeLocalFile: (text: string) => writeFileSync(localFile, text),
    deciders: {
      start: async (): Promise<void> => {
        deciders = await startDeciders(surroundings, recheckMs ?? null);
      },
      stop: async (): Promise<void> => {
        await deciders?.stop();
        deciders = null;
      },
    },
    startNode: async (): Promise<NodeRun> => {
      const run = await startNode({ ...surroundings, node, state, localFile });
      await run.policies.caughtUp;
      nodeRuns.add(run);
      return {
        ...run,
        stop: async () => {
          await run.stop();
          nodeRuns.delete(run);
        },
        kill: () => {
          nodeRuns.delete(run);
          run.kill();
        },
      };
    },
    records: async (topic: TopicId): Promise<LogRecord[]> => {
      const records: LogRecord[] = [];
      for await (const event of log.read({ topic: TOPICS[topic].name, from: 'earliest', to: 'end' }))
        if (event.kind === 'record') records.push(event.record);
      return records;
    },
    events: async <Id extends TopicId>(topic: Id): Promise<EventOf<Id>[]> =>
      (await pipeline.records(topic)).map((record) => eventOf(topic, record)),
    [Symbol.asyncDispose]: async () => {
      for (const run of nodeRuns) await run.stop();
      await deciders?.stop();
      await cleanup.disposeAsync();
    },
  };
  if (policy !== null) {
    const record = appliedPolicy(policy);
    await log.publish([operator(toOutgoing(record.policy.name, record))]);
  }
  await pipeline.deciders.start();
  return pipeline;
}

function toOutgoing(key: string, event: EventOf<'policies'> | null) {
  if (event !== null) return outgoing({ topic: 'policies', key, event });
  return outgoing(deletionOutput(key));
}

/** As a consumer reads it, so that what no consumer would take fails the test. */
function eventOf<Id extends TopicId>(topic: Id, record: LogRecord): EventOf<Id> {
  const parsed = parseRecord(topic, record);
  if (parsed.ok) return parsed.event;
  throw new Error(`on ${topic} lies what nobody can read: ${parsed.rejection.message}`);
}
