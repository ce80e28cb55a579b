import type { Logger } from 'pino';
import type { RuntimeReader, RuntimeRemover } from '../../packages/cri/port.ts';
import type { StateDirectory } from '../../packages/machine/state-directory.ts';
import type { Publisher } from '../../packages/pipeline/publisher.ts';
import type { PolicySource } from '../../packages/policy/policies.ts';
import { runTogether } from '../../packages/process/loops.ts';
import type { Metrics } from '../../packages/process/metrics.ts';
import { rememberPods } from '../../services/node/managed-node.ts';
import { NodeAgent } from '../../services/node-agent/agent.ts';
import type { ContentReading } from '../../services/node-agent/inventory/content-reading.ts';
import { policyInForce } from '../../services/node-executor/checks/command-checks.ts';
import { createNodeExecutor, type NodeExecutor } from '../../services/node-executor/executor.ts';
import { NO_LOCAL_RULES } from '../../services/node-executor/local/local-file.ts';
import { type Fleet, type FleetNode, instantAt, readingsAt } from '../fleet/fleet-node.ts';
import { layerTable } from '../fleet/image-disk.ts';
import {
  CONTAINER_LOGS_DIR,
  type LogDirectory,
  openLogDirectory,
  POD_LOGS_DIR,
  podLogDirectories,
} from '../fleet/node-logs.ts';
import { killable, killableState, type Life, NEVER } from './killable.ts';
import { nodeRhythm } from './node-rhythm.ts';

/** What the processes of FleetGC on one node stand on; it outlives them. */
export interface NodeGround {
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
  readonly watcher: ReturnType<typeof nodeRhythm>['watcher'];
  /** A detection now. */
  detectNow(): Promise<void>;
  /** As SIGKILL does: whatever it does from now on has no effect, and nothing answers it. */
  kill(): void;
  /** Rejects with what nobody foresaw. */
  readonly ended: Promise<void>;
}

export function startNodeProcess(ground: NodeGround): NodeProcess {
  const { fleet, node, logger, counted, random } = ground;
  const life: Life = { dead: false };
  const sleep = killableSleep(ground, life);
  const rhythm = nodeRhythm({ ...ground, time: fleet.time, sleep });
  const metrics = countingMetrics((...count) => {
    if (!life.dead) counted(...count);
  });
  const pods = rememberPods({ list: async () => podListing(node) }, ['api']);
  const shared = {
    clock: { now: () => instantAt(node, fleet, fleet.time.now()) },
    filesystems: {
      read: async () => {
        ground.measured();
        return readingsAt(node, fleet.time.now());
      },
    },
    runtime: killable(ground.runtime, life),
    state: killableState(ground.state, life),
  };
  const process = { publisher: killable(ground.publisher, life), sleep, random, logger, metrics };
  const { identity, nodeLabels } = node;
  const agent = new NodeAgent({
    ...shared,
    ...process,
    identity,
    nodeLabels,
    policies: ground.policies.current.node,
    contents: contentsOf(node),
    logs: async () => ({ podLogDirectories: podLogDirectories(node), danglingSymlinks: [] }),
    pods: pods.source,
    podSources: ['api'],
    schedule: rhythm.schedule,
  });
  const executor = createNodeExecutor({
    ...process,
    node: {
      ...shared,
      identity,
      policy: () => policyInForce(ground.policies.current.node, { ...identity, nodeLabels }),
      takeInventory: agent.takeInventory,
      diskHistory: agent.diskHistory,
      wantedByPods: pods.wanted,
      podsNow: pods.now,
    },
    files: filesOf(ground, life),
  });
  const stopping = new AbortController();
  return {
    agent,
    executor,
    watcher: rhythm.watcher,
    detectNow: rhythm.detectNow,
    kill: () => {
      life.dead = true;
    },
    ended: runTogether([agent.run, executor.run], stopping.signal),
  };
}

const killableSleep =
  ({ fleet }: NodeGround, life: Life) =>
  async (ms: number, signal?: AbortSignal): Promise<void> => {
    if (life.dead) await NEVER;
    await fleet.time.sleep(ms, signal);
    if (life.dead) await NEVER;
  };

const contentsOf =
  (node: FleetNode): ContentReading =>
  async () => ({ layers: layerTable(node.disk), originOf: () => 'pulled' });

const podListing = ({ identity, kubeletProcesses, pods }: FleetNode) => ({
  kubeletInstance: `${identity.node}-${kubeletProcesses}`,
  pods: [...pods.values()].flatMap(({ told }) => told ?? []),
});

function filesOf({ node, beforeLogRemoval }: NodeGround, life: Life) {
  const openDirectory = async (path: string): Promise<LogDirectory> => {
    if (life.dead) await NEVER;
    return openLogDirectory(node, path, beforeLogRemoval);
  };
  return {
    logs: { podLogsDir: POD_LOGS_DIR, containerLogsDir: CONTAINER_LOGS_DIR, openDirectory },
    localRules: async () => NO_LOCAL_RULES,
  };
}

/** What was counted, by the name of the metric and its labels. */
export type Counted = (name: string, labels: Readonly<Record<string, string>>, by: number) => void;

/** Metrics of one of thousands of nodes: counts are passed on, and nothing is served. */
const countingMetrics = (counted: Counted): Metrics => ({
  count: (name) => ({ add: (labels, by = 1) => counted(name, labels, by) }),
  distribution: () => ({ observe: () => {} }),
  gauge: () => {},
  total: () => {},
  text: async () => '',
  contentType: 'text/plain',
});
