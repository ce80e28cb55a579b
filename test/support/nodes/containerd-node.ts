import type { ContainerdRuntime } from '../toolchain/versions.ts';
import type { NodeOptions } from './node-container.ts';
import { type RealNode, startRealNode } from './real-node.ts';

/** A node whose runtime is containerd: beside CRI there are its own API, and `ctr`. */
export interface ContainerdNode extends RealNode {
  readonly runtimeName: ContainerdRuntime;
}

export interface ContainerdNodeOptions extends NodeOptions {
  readonly runtime?: ContainerdRuntime;
}

/** Starts a node and waits until its containerd answers. It holds the pause image and nothing else. */
export async function startContainerdNode(options: ContainerdNodeOptions = {}): Promise<ContainerdNode> {
  const { runtime = 'containerd-2.4.2' } = options;
  return { ...(await startRealNode(options)), runtimeName: runtime };
}
