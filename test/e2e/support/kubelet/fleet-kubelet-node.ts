import { REAL_KUBELET_URL } from '../../../support/nodes/kubelet-answers.ts';
import {
  type KubeletNode,
  type KubeletNodeOptions,
  startKubeletNode,
} from '../../../support/nodes/kubelet-node.ts';
import { type FleetgcOnNode, fleetgcOn, type Surroundings } from '../fleet/fleet-node.ts';

export interface FleetKubeletNodeOptions extends Omit<KubeletNodeOptions, 'network'> {
  readonly name: string;
}

/** A node of the fleet with real containerd and the real kubelet, and `fleetgc node` beside them. */
export interface FleetKubeletNode extends KubeletNode, FleetgcOnNode {}

/** Starts the node and its kubelet; `fleetgc node` is for the test to start. */
export async function startFleetKubeletNode(
  surroundings: Surroundings,
  options: FleetKubeletNodeOptions,
): Promise<FleetKubeletNode> {
  await using starting = new AsyncDisposableStack();
  const node = starting.use(await startKubeletNode({ ...options, network: surroundings.network }));
  const sources = options.kubelet?.kubeconfig === undefined ? 'file' : 'file,api';
  const args = ['--kubelet-url', REAL_KUBELET_URL, '--pod-sources', sources];
  const fleetgc = starting.use(fleetgcOn(node, surroundings, { cluster: 'e2e', args }));
  const stack = starting.move();
  return { ...node, ...fleetgc, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
