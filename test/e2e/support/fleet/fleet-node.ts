import { connectReader } from '../../../../packages/cri/client.ts';
import type { RuntimeReader } from '../../../../packages/cri/port.ts';
import type { TestNetwork } from '../../../support/network.ts';
import { connectWorkload } from '../../../support/nodes/cri-workload.ts';
import { type NodeProcess, startFleetgc } from '../../../support/nodes/node-process.ts';
import { NODE_RUNTIMES } from '../../../support/nodes/node-runtimes.ts';
import { type RealNode, startRealNode } from '../../../support/nodes/real-node.ts';
import type { PushedImage } from '../../../support/nodes/registry.ts';
import type { NodeRuntime } from '../../../support/toolchain/versions.ts';
import { type FakeKubelet, KUBELET_URL, startFakeKubelet } from '../kubelet/fake-kubelet.ts';
import type { FleetLog } from './fleet-log.ts';

const START_MS = 60_000;
/** The verbs of a node, and the ports on which they serve their readiness. */
const HTTP_PORTS = { node: 9641, 'node-agent': 9642, 'node-executor': 9643 } as const;
export type NodeVerb = keyof typeof HTTP_PORTS;

export interface FleetNodeOptions {
  readonly name: string;
  readonly cluster?: string;
  readonly runtime?: NodeRuntime;
  /** Size of the one disk that holds images, containers, logs and the state directory. */
  readonly diskMebibytes?: number;
  /** Whether a kubelet answers on the node; by default there is none, and every pod is unknown. */
  readonly kubelet?: boolean;
  /** More options of `fleetgc node`. */
  readonly args?: readonly string[];
}

export interface Surroundings {
  readonly network: TestNetwork;
  readonly log: FleetLog;
  readonly environment: Readonly<Record<string, string>>;
}

/** `fleetgc node` on a node with real containerd, and a test's looks at what is there. */
export interface FleetgcOnNode {
  readonly cluster: string;
  /** For the test's own looks at what is there. */
  readonly runtime: RuntimeReader;
  /** What all its `fleetgc node` processes wrote. */
  output(): string;
  /** Starts `fleetgc node` or one of its halves; resolves when it is ready and, unless it only removes, has reported. */
  startFleetgc(verb?: NodeVerb): Promise<NodeProcess>;
  /** SIGTERM, and its end. */
  stopFleetgc(): Promise<number>;
  /** Pulls as a kubelet would. */
  pull(image: PushedImage): Promise<void>;
  /** Ids of the images that the runtime lists. */
  imageIds(): Promise<readonly string[]>;
  /** Used share of the disk, rounded up as the policy's thresholds are. */
  usedPercent(): Promise<number>;
}

/** A node of the fleet: real containerd on a small disk, and `fleetgc node` beside it. */
export interface FleetNode extends RealNode, FleetgcOnNode {
  /** A kubelet's word on pods, when there is one. */
  readonly kubelet: FakeKubelet | null;
}

/** Starts the node; `fleetgc node` is for the test to start. */
export async function startFleetNode(
  surroundings: Surroundings,
  options: FleetNodeOptions,
): Promise<FleetNode> {
  const { name, cluster = 'e2e', runtime = 'containerd-2.4.2', diskMebibytes = 400 } = options;
  await using starting = new AsyncDisposableStack();
  const node = starting.use(
    await startRealNode({ name, runtime, network: surroundings.network, diskMebibytes }),
  );
  const kubelet = options.kubelet ? starting.use(await startFakeKubelet(node)) : null;
  const kubeletArgs = kubelet ? ['--kubelet-url', KUBELET_URL] : [];
  const args = [...NODE_RUNTIMES[runtime].nodeArgs, ...kubeletArgs, ...(options.args ?? [])];
  const fleetgc = starting.use(fleetgcOn(node, surroundings, { cluster, args }));
  const stack = starting.move();
  return { ...node, ...fleetgc, kubelet, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

interface Running {
  readonly cluster: string;
  readonly args: readonly string[];
}

/** What starts, stops and watches `fleetgc node` on a node that is there. */
export function fleetgcOn(
  node: RealNode,
  { log, environment }: Surroundings,
  { cluster, args }: Running,
): FleetgcOnNode & AsyncDisposable {
  const { name } = node;
  const stack = new AsyncDisposableStack();
  const runtime = stack.use(connectReader(node.endpoint));
  const processes: NodeProcess[] = [];
  return {
    cluster,
    runtime,
    output: () => processes.map((process) => process.output()).join('\n'),
    startFleetgc: async (verb = 'node') => {
      const since = inventoriesOf(log, cluster, name).length;
      const process = stack.use(await startFleetgc(node, [verb, '--cluster', cluster, ...args], environment));
      processes.push(process);
      await log.until(`'${verb}' on ${cluster}/${name} to be ready`, START_MS, () =>
        node.exec(['busybox', 'wget', '-q', '-O', '-', `http://127.0.0.1:${HTTP_PORTS[verb]}/readyz`]),
      );
      if (verb !== 'node-executor')
        await log.until(`an inventory of ${cluster}/${name} after a start of '${verb}'`, START_MS, () => {
          return inventoriesOf(log, cluster, name).length > since;
        });
      return process;
    },
    stopFleetgc: async () => {
      const last = processes.at(-1);
      if (!last) throw new Error(`no fleetgc runs on ${name}`);
      await last.signal('SIGTERM');
      return await last.exited;
    },
    pull: async ({ reference }) => {
      using workload = connectWorkload(node.endpoint);
      await workload.pullImage(reference);
    },
    imageIds: async () => (await runtime.listImages()).map(({ id }) => id),
    usedPercent: async () => {
      const { capacityBytes, availableBytes } = await node.disk();
      return 100 - Math.floor((availableBytes * 100) / capacityBytes);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const inventoriesOf = (log: FleetLog, cluster: string, node: string) =>
  log.events('inventory').filter((event) => event.cluster === cluster && event.node === node);
