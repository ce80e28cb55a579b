import {
  type KubeletNode,
  type KubeletNodeOptions,
  REAL_KUBELET_URL,
  startKubeletNode,
} from '../../support/kubelet-node.ts';
import { type FleetgcOnNode, fleetgcOn, type Surroundings } from './fleet-node.ts';

const POD_ARGS = ['--kubelet-url', REAL_KUBELET_URL, '--pod-sources', 'file'];

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
  const fleetgc = starting.use(fleetgcOn(node, surroundings, { cluster: 'e2e', args: POD_ARGS }));
  const stack = starting.move();
  return { ...node, ...fleetgc, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
