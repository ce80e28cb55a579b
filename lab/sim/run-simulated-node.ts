import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { linuxClock } from '../../packages/machine/clock.ts';
import { openStateDirectory } from '../../packages/machine/state-directory.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import { cachePods, type ManagedNode } from '../../services/node/managed-node.ts';
import { runNode } from '../../services/node/run-node.ts';
import { type SimulatedNode, startSimulatedNode } from './node/simulated-node.ts';
import { createWorkload, runUntilUsed, runWorkload } from './workload/workload.ts';

export interface SimulatedNodeSettings {
  readonly cluster: string;
  readonly name: string;
  /** For the socket, the logs and the state; short, since a socket path has at most 107 bytes. */
  readonly directory: string;
  readonly capacityBytes: bigint;
  /** The node has lived until its disk is used to this percentage when it joins. */
  readonly startPercent: number;
  readonly seed: number;
  /** How long between two steps of its life. */
  readonly stepMs: number;
  /** What the node's own people want, as a real one has it; nothing of its own when not given. */
  readonly localFile?: string | undefined;
}

/** What of the disk is neither images nor containers nor logs. */
const OTHER_PERCENT = 15n;
const MAXIMUM_PODS = 6;
const MOST_STEPS_BEFORE = 500;

/**
 * A node that is made up, with a real agent and a real executor on its real CRI socket, living a busy life until the
 * signal aborts.
 */
export async function runSimulatedNode(
  process: ServiceProcess,
  options: SimulatedNodeSettings,
  signal: AbortSignal,
): Promise<void> {
  const { directory, name, capacityBytes, seed, startPercent: percent } = options;
  await mkdir(directory, { recursive: true });
  await using simulated = await startSimulatedNode({
    name,
    directory,
    clock: linuxClock(),
    capacityBytes,
    otherBytes: (capacityBytes * OTHER_PERCENT) / 100n,
    hasContainerdApi: true,
  });
  const workload = createWorkload({ node: simulated, seed, maximumPods: MAXIMUM_PODS });
  await runUntilUsed(workload, simulated, { percent, maximumSteps: MOST_STEPS_BEFORE });
  const node = managed(simulated, options);
  const { podLogsDir, containerLogsDir } = simulated;
  const named = options.localFile;
  const localFile = { path: named ?? join(directory, 'node.yaml'), isNamed: named !== undefined };
  const executor = { podLogsDir, containerLogsDir, localFile };
  await Promise.all([
    runWorkload(workload, ticks(process, options.stepMs, signal), () => {}),
    runNode({ process, node, signal }, { policies: process.followPolicies(null), options: executor }),
  ]);
}

function managed(simulated: SimulatedNode, { cluster, name, directory }: SimulatedNodeSettings): ManagedNode {
  const state = openStateDirectory(join(directory, 'state'), `simulated ${cluster}/${name}`);
  return {
    identity: { cluster, node: name, nodeInstance: state.nodeInstance },
    nodeLabels: {},
    runtimeEndpoint: simulated.endpoint,
    imageLayers: true,
    clock: simulated.clock,
    state,
    filesystems: () => simulated.filesystems,
    podLogs: simulated,
    pods: cachePods(simulated.kubelet, ['api']),
    podSources: ['api'],
  };
}

async function* ticks(
  { sources }: ServiceProcess,
  stepMs: number,
  signal: AbortSignal,
): AsyncGenerator<void> {
  while (!signal.aborted) {
    await sources.wait(stepMs, signal);
    if (!signal.aborted) yield;
  }
}
