import type { Logger } from 'pino';
import type { z } from 'zod';
import type { RuntimeContainerEvent } from '../../../packages/cri/port.ts';
import type { Input, Output, Outputs } from '../../../packages/decision/handler.ts';
import { recordBytes } from '../../../packages/log/limits.ts';
import type { LogPosition, LogPublisher, LogRecord, OutgoingRecord } from '../../../packages/log/port.ts';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';
import type { PolicySource } from '../../../packages/policy/policies.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { Publisher } from '../../../packages/records/publisher.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { EventOf } from '../../../schemas/events/topics.ts';
import {
  IMAGE_HISTORY_BYTES,
  IMAGE_HISTORY_FILE,
  ImageHistoryFile,
} from '../../../schemas/state/image-history.ts';
import type { FleetFaults } from '../fleet/faults.ts';
import type { Fleet, FleetNode } from '../fleet/node.ts';
import { admitPod } from '../fleet/node-kubelet.ts';
import { nodeRuntime, type Removal } from '../fleet/node-runtime.ts';
import { initialImageHistory } from '../fleet/workload.ts';
import { type Random, seededRandom } from '../random.ts';
import { type NodeEnvironment, type NodeProcess, startNodeProcess } from './node-process.ts';
import type { FleetTally } from './tally.ts';

/** What all members of the fleet share. */
interface FleetContext {
  readonly fleet: Fleet;
  readonly faults: FleetFaults;
  readonly tally: FleetTally;
  readonly policies: Pick<PolicySource, 'current'>;
  readonly publisherOf: (node: FleetNode) => Publisher;
  /** Whether nothing new is to begin. */
  readonly isQuiet: () => boolean;
  readonly logger: Logger;
  /** Told of what nobody foresaw. */
  readonly failed: (error: unknown) => void;
}

/** One node of the fleet with its processes, as far as they run. */
export interface FleetMember {
  readonly node: FleetNode;
  start(): void;
  kill(): void;
  isRunning(): boolean;
  observe(input: Input<EventOf<'observe'>>): Outputs | Promise<Outputs>;
  commands(input: Input<Command>): Outputs | Promise<Outputs>;
  rejected(...args: Parameters<NodeProcess['executor']['onRejection']>): Outputs;
}

/** So far back a node reads its orders when it starts. */
const LOOK_BACK_MS = 600_000;

/** Messages of the last ten minutes, for a node that will start once more. */
interface Kept {
  readonly atMs: number;
  readonly deliver: (process: NodeProcess) => unknown;
}

export function createFleetMember(context: FleetContext, node: FleetNode): FleetMember {
  const { fleet, tally } = context;
  const { node: name } = node.identity;
  const random = seededRandom(fleet.seed * 13 + node.index);
  const deaths = createDeathEvents();
  let process: NodeProcess | null = null;
  let kept: Kept[] = [];
  const state = stateInMemory(node.identity.nodeInstance);
  state
    .open(IMAGE_HISTORY_FILE, IMAGE_HISTORY_BYTES, ImageHistoryFile)
    .write(initialImageHistory(fleet, node));
  const environment = nodeEnvironment(context, {
    node,
    state,
    random,
    deaths,
    detectNow: async () => process?.detectNow(),
  });
  const keep = (deliver: Kept['deliver']): void => {
    kept = [
      ...kept.filter(({ atMs }) => fleet.time.now() - atMs <= LOOK_BACK_MS),
      { atMs: fleet.time.now(), deliver },
    ];
  };
  const observed = (input: Input<EventOf<'observe'>>) => (to: NodeProcess) =>
    tally.orders.arrives(name, () => to.agent.observe(input));
  return {
    node,
    start: () => {
      const started = startNodeProcess(environment);
      process = started;
      started.ended.catch(context.failed);
      node.watcher = { ...started.watcher, containerDied: deaths.died };
      for (const { deliver } of kept) void deliver(started);
    },
    kill: () => {
      process?.kill();
      process = null;
      tally.orders.interrupted(name);
    },
    isRunning: () => process !== null,
    observe: (input) => {
      keep(observed(input));
      return process === null ? [] : observed(input)(process);
    },
    commands: (input) => {
      if (tally.commanded.received(name, input.event))
        useMeanwhile(context, node, { random, command: input.event });
      keep(({ executor }) => executor.commands(input));
      return process?.executor.commands(input) ?? [];
    },
    rejected: (topic, rejection, record: LogRecord) =>
      process?.executor.onRejection(topic, rejection, record) ?? [],
  };
}

interface NodeEnvironmentParts {
  readonly node: FleetNode;
  readonly state: NodeEnvironment['state'];
  readonly random: Random;
  readonly deaths: ReturnType<typeof createDeathEvents>;
  readonly detectNow: () => Promise<void>;
}

function nodeEnvironment(
  context: FleetContext,
  { node, state, random, deaths, detectNow }: NodeEnvironmentParts,
): NodeEnvironment {
  const { fleet, tally, faults, logger, policies } = context;
  const { node: name } = node.identity;
  const beforeRemoval = (removal: Removal): void => tally.removal(node, removal);
  const runtime = nodeRuntime({
    node,
    beforeRemoval,
    admit: async ({ kind, id }) => {
      // The use of an image may end with a container: the agent sees it in use until then.
      if (kind === 'container') await detectNow();
      if (random() * 100 < faults.failedRemovalPercent)
        throw new FleetGcError('RUNTIME_FAILED', `cannot remove ${kind} ${id}: device or resource busy`);
    },
    answer: () => fleet.time.sleep(answersAfterMs(random, faults)),
    events: deaths.listen,
  });
  return {
    fleet,
    node,
    state,
    runtime,
    publisher: acknowledgingPublisher(context.publisherOf(node), (output) =>
      tally.acknowledged(node, output),
    ),
    policies,
    random: Math.random,
    logger,
    counted: (metric, labels) => {
      if (metric === 'agent_orders_total') tally.orders.counted(name, labels.outcome ?? '');
    },
    measured: () => tally.measured(node),
    isQuiet: context.isQuiet,
    beforeLogRemoval: (id) => beforeRemoval({ kind: 'pod-log-directory', id }),
  };
}

function answersAfterMs(random: Random, { slowRemovalPercent }: FleetFaults): number {
  const isSlow = random() * 100 < slowRemovalPercent;
  return Math.round(isSlow ? 5_000 + random() * 35_000 : 50 + random() * 900);
}

const USED_WITHIN_MS = 3_000;

/** Between decision and removal a pod comes that uses one of the images that are to go. */
function useMeanwhile(
  { fleet, faults }: FleetContext,
  node: FleetNode,
  { random, command }: { readonly random: Random; readonly command: Command },
): void {
  if (command.kind !== 'image-removal' || random() * 100 >= faults.usedMeanwhilePercent) return;
  const item = command.items[Math.floor(random() * command.items.length)];
  const image = node.disk.images.get(item?.id ?? '')?.image;
  if (image === undefined) return;
  const application =
    fleet.catalogue.applications.find(({ repository }) => repository === image.repository) ??
    fleet.catalogue.applications[0];
  fleet.time.at(fleet.time.now() + random() * USED_WITHIN_MS, () => {
    if (node.isUp) admitPod(fleet, node, { kind: 'service', application, image });
  });
}

/** Deaths of containers, as a runtime tells them to whoever listens. */
interface DeathEvents {
  died(containerId: string): void;
  listen(signal: AbortSignal): AsyncIterable<RuntimeContainerEvent>;
}

function createDeathEvents(): DeathEvents {
  let waiting: string[] = [];
  let wake: () => void = () => {};
  return {
    died: (containerId) => {
      waiting.push(containerId);
      wake();
    },
    listen: async function* (signal) {
      waiting = [];
      signal.addEventListener('abort', () => wake(), { once: true });
      while (!signal.aborted) {
        for (const containerId of waiting.splice(0)) yield { containerId, kind: 'stopped' };
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        if (waiting.length === 0 && !signal.aborted) await promise;
      }
    },
  };
}

/** A state directory whose files are values in memory; it outlives the processes of its node. */
function stateInMemory(nodeInstance: string): StateDirectory {
  const files = new Map<string, unknown>();
  const read = <T>(name: string, schema: z.ZodType<T>): T | null => {
    const value = files.get(name);
    return value === undefined ? null : schema.parse(value);
  };
  return {
    path: 'in memory',
    nodeInstance,
    open: (name, _, schema) => ({
      read: () => read(name, schema),
      write: (value) => {
        files.set(name, value);
      },
    }),
    openReadOnly: (name, schema) => ({ read: () => read(name, schema) }),
  };
}

/** A publisher of which somebody hears what the log has acknowledged. */
function acknowledgingPublisher(publisher: Publisher, acknowledged: (output: Output) => void): Publisher {
  const outputOf = new WeakMap<OutgoingRecord, Output>();
  return {
    ids: publisher.ids,
    tracer: publisher.tracer,
    records: (outputs, trace) =>
      outputs.flatMap((output) => {
        const records = publisher.records([output], trace);
        for (const record of records) outputOf.set(record, output);
        return records;
      }),
    send: async (records) => {
      await publisher.send(records);
      for (const record of records) {
        const output = outputOf.get(record);
        if (output !== undefined) acknowledged(output);
      }
    },
    publish: async (outputs, trace) => {
      await publisher.publish(outputs, trace);
      outputs.forEach(acknowledged);
    },
  };
}

/** Events and their bytes before compression, by topic. */
export type Published = Readonly<Record<string, { readonly events: number; readonly bytes: number }>>;

/** A log of which it is counted what it acknowledged. */
export function countedLog(log: LogPublisher) {
  const published: Record<string, { events: number; bytes: number }> = {};
  return {
    published: (): Published => ({ ...published }),
    publish: async (records: readonly OutgoingRecord[]): Promise<readonly LogPosition[]> => {
      const positions = await log.publish(records);
      for (const record of records) {
        const { events, bytes } = published[record.topic] ?? { events: 0, bytes: 0 };
        published[record.topic] = { events: events + 1, bytes: bytes + recordBytes(record) };
      }
      return positions;
    },
  };
}
