import { connectReader } from '../../packages/cri/client.ts';
import type { ContainerdNode } from '../support/nodes/containerd-node.ts';
import { connectWorkload } from '../support/nodes/cri-workload.ts';
import { REAL_KUBELET_URL } from '../support/nodes/kubelet-answers.ts';
import type { KubeletSettings } from '../support/nodes/kubelet-configuration.ts';
import { type KubeletNode, startKubeletNode } from '../support/nodes/kubelet-node.ts';
import { startFleetgc } from '../support/nodes/node-process.ts';
import type { PushedImage } from '../support/nodes/registry.ts';
import { waitUntil } from '../support/wait-until.ts';
import type { BenchKafka } from './kafka.ts';

/** What both collectors are told, in percent of the disk. */
export const THRESHOLDS = { high: 80, low: 70, evictionAvailable: 15 } as const;

/** Who collects on a node; the other is off or not there. */
export type Collector = 'fleetgc' | 'kubelet';

const KUBELETS: Readonly<Record<Collector, KubeletSettings>> = {
  fleetgc: {},
  kubelet: {
    deadContainersPerContainer: 1,
    minimumContainerTtl: '0s',
    configuration: {
      imageGCHighThresholdPercent: THRESHOLDS.high,
      imageGCLowThresholdPercent: THRESHOLDS.low,
      // Below zero: no image is too young (B11).
      imageMinimumGCAge: '-1s',
      evictionHard: { 'imagefs.available': `${THRESHOLDS.evictionAvailable}%` },
    },
  },
};

const DISK_MEBIBYTES = 256;
const RUNNING_MS = 60_000;

/** The images that a node is to hold. */
export interface NodeImages {
  /** In the order in which they are pulled. */
  readonly unused: readonly PushedImage[];
  readonly used: PushedImage;
}

export interface CollectedNode extends KubeletNode {
  readonly collector: Collector;
}

/** A node with a kubelet, a pod that runs, and images that nobody uses; and one collector. */
export async function startCollectedNode(
  { network, broker }: BenchKafka,
  stack: AsyncDisposableStack,
  {
    name,
    collector,
    images,
  }: { readonly name: string; readonly collector: Collector; readonly images: NodeImages },
): Promise<CollectedNode> {
  const kubelet = KUBELETS[collector];
  const node = stack.use(await startKubeletNode({ name, network, diskMebibytes: DISK_MEBIBYTES, kubelet }));
  await node.kubelet.put({ name: 'steady', containers: [{ name: 'main', image: images.used.reference }] });
  await waitUntil(`the pod on ${name} to run`, RUNNING_MS, async () => {
    return (await node.kubelet.pod('steady'))?.status.containerStatuses[0]?.state?.running !== undefined;
  });
  await pullMissing(node, images.unused);
  if (collector === 'fleetgc') {
    const log = [
      '--kafka-brokers',
      broker.internalAddress,
      '--kafka-replication-factor',
      '1',
      '--trust',
      'off',
    ];
    const pods = ['--kubelet-url', REAL_KUBELET_URL, '--pod-sources', 'file'];
    stack.use(
      await startFleetgc(node, ['node', '--cluster', 'bench', '--http-address', 'none', ...log, ...pods]),
    );
  }
  return { ...node, collector };
}

/** Brings back what was collected. */
export async function pullMissing(node: ContainerdNode, images: readonly PushedImage[]): Promise<void> {
  using workload = connectWorkload(node.endpoint);
  const there = new Set(await imageIds(node));
  for (const { id, reference } of images) if (!there.has(id)) await workload.pullImage(reference);
}

export async function imageIds(node: ContainerdNode): Promise<readonly string[]> {
  using reader = connectReader(node.endpoint);
  return (await reader.listImages()).map(({ id }) => id);
}
