import type { Logger } from 'pino';
import type { RuntimeReader, RuntimeRemover } from '../../../packages/cri/port.ts';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';
import type { PolicySource } from '../../../packages/policy/policies.ts';
import { createWakeSignal, runTogether } from '../../../packages/process/loops.ts';
import type { Metrics } from '../../../packages/process/metrics.ts';
import type { Publisher } from '../../../packages/records/publisher.ts';
import { TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import { type AgentTask, NodeAgent, type TaskSchedule } from '../../../services/node/agent/agent.ts';
import type { ContentReading } from '../../../services/node/agent/contents.ts';
import { policyInForce } from '../../../services/node/executor/checks.ts';
import { NO_LOCAL_RULES } from '../../../services/node/executor/local-rules.ts';
import { createNodeExecutor, type NodeExecutor } from '../../../services/node/executor/run.ts';
import { cachePods } from '../../../services/node/managed-node.ts';
import type { FleetTime } from '../fleet/fleet-time.ts';
import {
  availableAt,
  type Fleet,
  type FleetNode,
  instantAt,
  layerTable,
  type NodeWatcher,
  readingsAt,
} from '../fleet/node.ts';
import {
  CONTAINER_LOGS_DIR,
  type LogDirectory,
  openPodLogDirectory,
  POD_LOGS_DIR,
  podLogDirectories,
} from '../fleet/node-kubelet.ts';

/** What the processes of FleetGC on one node stand on; it outlives them. */
export interface NodeEnvironment {
  readonly fleet: Fleet;
  readonly node: FleetNode;
  readonly state: StateDirectory;
  readonly runtime: RuntimeReader & RuntimeRemover;
  readonly publisher: Publisher;
  readonly policies: Pick<PolicySource, 'current'>;
  readonly random: () => number;
  readonly logger: Logger;
  readonly counted: Counted;
  readonly beforeLogRemoval: (name: string) => void;
  /** The disk is looked at. */
  readonly measured: () => void;
  /** Whether the agent is to look of itself no more. */
  readonly isQuiet: () => boolean;
}

/** Agent and executor of one node of the fleet, from a start to their death. */
export interface NodeProcess {
  readonly agent: Pick<NodeAgent, 'observe'>;
  readonly executor: Pick<NodeExecutor, 'commands' | 'onRejection'>;
  readonly watcher: ReturnType<typeof agentSchedule>['watcher'];
  /** A detection now. */
  detectNow(): Promise<void>;
  /** As SIGKILL does: whatever it does from now on has no effect, and nothing answers it. */
  kill(): void;
  /** Rejects with what nobody foresaw. */
  readonly ended: Promise<void>;
}

export function startNodeProcess(environment: NodeEnvironment): NodeProcess {
  const { fleet, node, logger, counted, random } = environment;
  const state: ProcessState = { dead: false };
  const sleep = killableSleep(environment, state);
  const scheduled = agentSchedule({ ...environment, time: fleet.time, sleep });
  const metrics = countingMetrics((...count) => {
    if (!state.dead) counted(...count);
  });
  const pods = cachePods({ list: async () => podListing(node) }, ['api']);
  const shared = {
    clock: { now: () => instantAt(node, fleet, fleet.time.now()) },
    filesystems: {
      read: async () => {
        environment.measured();
        return readingsAt(node, fleet.time.now());
      },
    },
    runtime: killable(environment.runtime, state),
    state: killableState(environment.state, state),
  };
  const process = { publisher: killable(environment.publisher, state), sleep, random, logger, metrics };
  const { identity, nodeLabels } = node;
  const agent = new NodeAgent({
    ...shared,
    ...process,
    identity,
    nodeLabels,
    policies: environment.policies.current.node,
    contents: contentsOf(node),
    podLogs: async () => ({ podLogDirectories: podLogDirectories(node), danglingSymlinks: [] }),
    pods: pods.source,
    podSources: ['api'],
    schedule: scheduled.schedule,
  });
  const executor = createNodeExecutor({
    ...process,
    node: {
      trust: TRUST_OFF,
      ...shared,
      identity,
      policy: () => policyInForce(environment.policies.current.node, { ...identity, nodeLabels }),
      takeInventory: agent.takeInventory,
      diskHistory: agent.diskHistory,
      wantedByPods: pods.wanted,
      podsNow: pods.now,
    },
    files: filesOf(environment, state),
  });
  const stopping = new AbortController();
  return {
    agent,
    executor,
    watcher: scheduled.watcher,
    detectNow: scheduled.detectNow,
    kill: () => {
      state.dead = true;
    },
    ended: runTogether([agent.run, executor.run], stopping.signal),
  };
}

const killableSleep =
  ({ fleet }: NodeEnvironment, state: ProcessState) =>
  async (ms: number, signal?: AbortSignal): Promise<void> => {
    if (state.dead) await NEVER;
    await fleet.time.sleep(ms, signal);
    if (state.dead) await NEVER;
  };

const contentsOf =
  (node: FleetNode): ContentReading =>
  async () => ({ layers: layerTable(node.disk), originOf: () => 'pulled' });

const podListing = ({ identity, kubeletProcesses, pods }: FleetNode) => ({
  kubeletInstance: `${identity.node}-${kubeletProcesses}`,
  pods: [...pods.values()].flatMap(({ listed }) => listed ?? []),
});

function filesOf({ node, beforeLogRemoval }: NodeEnvironment, state: ProcessState) {
  const openDirectory = async (path: string): Promise<LogDirectory> => {
    if (state.dead) await NEVER;
    return openPodLogDirectory(node, path, beforeLogRemoval);
  };
  return {
    podLogs: { podLogsDir: POD_LOGS_DIR, containerLogsDir: CONTAINER_LOGS_DIR, openDirectory },
    localRules: async () => NO_LOCAL_RULES,
  };
}

/** What was counted, by the name of the metric and its labels. */
type Counted = (name: string, labels: Readonly<Record<string, string>>, by: number) => void;

/** Metrics of one of thousands of nodes: counts are passed on, and nothing is served. */
const countingMetrics = (counted: Counted): Metrics => ({
  count: (name) => ({ add: (labels, by = 1) => counted(name, labels, by) }),
  occurrences: (name) => ({ add: (labels, by = 1) => counted(name, labels, by) }),
  distribution: () => ({ observe: () => {} }),
  gauge: () => {},
  total: () => {},
  text: async () => '',
  contentType: 'text/plain',
});

/** When an agent of the fleet looks: when something changes, and else as seldom as nothing is missed. */
interface AgentSchedule {
  readonly schedule: TaskSchedule;
  readonly watcher: Pick<NodeWatcher, 'listingChanged' | 'diskChanged'>;
  /** A detection now, as before the use of an image ends. */
  detectNow(): Promise<void>;
}

/** Each bucket of the disk history gets its sample. */
const SAMPLE_EVERY_MS = 10_000;
/** Nothing that happens on a node is seen later than by an agent that looks every ten seconds. */
const DETECT_AFTER_CHANGE_MS = 5_000;
/** Uses of images are watched without a break only while detections follow each other within five minutes. */
const DETECT_EVERY_MS = 200_000;
const SAVE_EVERY_MS = 60_000;

interface AgentScheduleParts {
  readonly node: FleetNode;
  readonly time: FleetTime;
  readonly sleep: FleetTime['sleep'];
  /** Whether nothing is looked at any more of itself. */
  readonly isQuiet: () => boolean;
}

function agentSchedule({ node, time, sleep, isQuiet }: AgentScheduleParts): AgentSchedule {
  const wakeSignals = {
    sample: createWakeSignal(sleep),
    detect: createWakeSignal(sleep),
    save: createWakeSignal(sleep),
  };
  let detect: () => Promise<void> | void = () => {};
  let detectedMs = Number.NEGATIVE_INFINITY;
  const pauses: Readonly<Record<AgentTask, (signal: AbortSignal) => Promise<void>>> = {
    sample: (signal) => wakeSignals.sample.wait(untilNextPercentMs(node, time.now()), signal),
    detect: async (signal) => {
      wakeSignals.save.wake();
      await wakeSignals.detect.wait(DETECT_EVERY_MS, signal);
      await sleep(DETECT_AFTER_CHANGE_MS, signal);
    },
    save: (signal) => wakeSignals.save.wait(SAVE_EVERY_MS, signal),
  };
  return {
    schedule: async (task, work, signal) => {
      if (task === 'detect') detect = work;
      while (!signal.aborted) {
        if (!isQuiet()) await work();
        if (task === 'detect') detectedMs = time.now();
        await pauses[task](signal);
      }
    },
    watcher: {
      listingChanged: () => wakeSignals.detect.wake(),
      diskChanged: () => wakeSignals.sample.wake(),
    },
    detectNow: async () => {
      if (time.now() - detectedMs < SAMPLE_EVERY_MS) return;
      detectedMs = time.now();
      await detect();
    },
  };
}

/** Until what fills the disk has crossed a whole percent, at most until the next bucket. */
function untilNextPercentMs(node: FleetNode, nowMs: number): number {
  const capacity = Number(node.disk.capacityBytes);
  const available = Number(availableAt(node, nowMs));
  const step = capacity / 100;
  const toNextBytes = available - Math.floor(available / step) * step;
  const crossesInMs = Math.ceil(toNextBytes / node.other.bytesPerMs) + 1;
  return Math.min(SAMPLE_EVERY_MS, Math.max(1_000, crossesInMs));
}

/** A process, as its surroundings see it. */
export interface ProcessState {
  dead: boolean;
}

export const NEVER = new Promise<never>(() => undefined);

/** The object as a process that may die sees it: its calls have no effect when dead, and answers do not reach it. */
export function killable<T extends object>(object: T, process: ProcessState): T {
  return new Proxy(object, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: readonly unknown[]): unknown => {
        const answer: unknown = process.dead ? NEVER : Reflect.apply(value, target, args);
        return answer instanceof Promise ? answerUnlessDead(answer, process) : answer;
      };
    },
  });
}

async function answerUnlessDead(answer: Promise<unknown>, process: ProcessState): Promise<unknown> {
  try {
    return await answer;
  } finally {
    if (process.dead) await NEVER;
  }
}

export const killableState = (state: StateDirectory, process: ProcessState): StateDirectory => ({
  ...state,
  open: (name, sizeBytes, schema) => {
    const file = state.open(name, sizeBytes, schema);
    return {
      read: file.read,
      write: (value) => {
        if (!process.dead) file.write(value);
      },
    };
  },
});
