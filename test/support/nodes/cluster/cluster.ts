import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { startProcess } from '../../../../lab/compare/sides/process.ts';
import type { TestNetwork } from '../../network.ts';
import { run } from '../../toolchain/command.ts';
import { builtKubernetesProgram } from '../../toolchain/kubernetes.ts';
import { ensureToolchain } from '../../toolchain/toolchain.ts';
import { waitUntil } from '../../wait-until.ts';
import { API_SERVICE_ADDRESS, type ApiServer, startApiServer } from '../api-server.ts';
import type { ContainerdNode } from '../containerd-node.ts';
import { type KubeletNode, startKubeletNode } from '../kubelet-node.ts';
import { startInNode } from '../node-process.ts';

const LOAD_MS = 120_000;
const NAMES_MS = 20_000;
/** As in most clusters. */
const NAMES_ADDRESS = '10.96.0.10';

export interface ClusterOptions {
  readonly network: TestNetwork;
  readonly nodeName: string;
  readonly diskMebibytes: number;
}

/** A whole Kubernetes: API server, controller manager, scheduler, and a node with kubelet and containerd whose pods reach the network. */
export interface Cluster extends AsyncDisposable {
  readonly server: ApiServer;
  readonly node: KubeletNode;
  /** The path of a file by which whoever has it may do everything. */
  readonly kubeconfig: string;
  /** Brings an image of the Docker Engine onto the node, by another name. */
  load(image: string, name: string): Promise<void>;
}

export async function startCluster({ network, nodeName, diskMebibytes }: ClusterOptions): Promise<Cluster> {
  await ensureToolchain([
    'api-server',
    'cluster-node',
    'kubectl',
    'kube-controller-manager',
    'kube-scheduler',
  ]);
  await using stack = new AsyncDisposableStack();
  const server = stack.use(
    await startApiServer(network, { flags: [], data: null, port: null, needsAccounts: true }),
  );
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-cluster-'));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const kubeconfig = join(directory, 'kubeconfig');
  writeFileSync(kubeconfig, stringify(server.localKubeconfig));
  const common = [`--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--secure-port=0'];
  const authority = `--root-ca-file=${server.files.authority}`;
  stack.use(await startProgram('kube-controller-manager', [...common, authority]));
  stack.use(await startProgram('kube-scheduler', common));
  const node = stack.use(
    await startKubeletNode({
      name: nodeName,
      network,
      diskMebibytes,
      forCluster: true,
      kubelet: { kubeconfig: server.kubeconfig, configuration: KUBELET },
    }),
  );
  stack.use(await startNetwork(node));
  const owned = stack.move();
  return {
    server,
    node,
    kubeconfig,
    load: (image, name) => load(node, image, name),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** It asks the API server who may ask it. */
const KUBELET = {
  clusterDNS: [NAMES_ADDRESS],
  clusterDomain: 'cluster.local',
  authentication: { anonymous: { enabled: false }, webhook: { enabled: true } },
  authorization: { mode: 'Webhook' },
};

async function startProgram(
  program: 'kube-controller-manager' | 'kube-scheduler',
  args: readonly string[],
): Promise<AsyncDisposable> {
  return startProcess(join(await builtKubernetesProgram(program), program), args, { environment: {} });
}

async function startNetwork(node: ContainerdNode): Promise<AsyncDisposable> {
  const running = await startInNode(node, ['/usr/local/sbin/run-cluster-network'], {
    NAMES_ADDRESS,
    API_ADDRESS: API_SERVICE_ADDRESS,
  });
  const ended = running.exited.then(() => {
    throw new Error(`the network of the cluster ended: ${running.output()}`);
  });
  const told = waitUntil('names to be told in the cluster', NAMES_MS, () =>
    running.output().includes('started'),
  );
  await Promise.race([told, ended]);
  return running;
}

async function load(node: ContainerdNode, image: string, name: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-image-'));
  try {
    const words = ['sh', image, node.containerId, join(directory, 'image.tar'), name];
    await run('sh', ['-e', '-c', LOAD, ...words], { usualMs: LOAD_MS });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const LOAD = `image=$1 node=$2 file=$3 name=$4
on_node() { docker exec --interactive "$node" ctr --address /run/fleetgc/containerd.sock --namespace k8s.io images "$@"; }
docker save --output "$file" "$image"
on_node import - < "$file"
on_node tag "docker.io/$image" "$name"
on_node rm "docker.io/$image"`;
