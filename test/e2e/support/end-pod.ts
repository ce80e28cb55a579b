import { connectReader, connectRemover } from '../../../packages/cri/client.ts';
import type { RealNode } from '../../support/nodes/real-node.ts';
import type { Pod } from '../../support/pods.ts';

/** Ends a pod and takes all of it away, as a kubelet that collects at once. */
export async function endPod(node: RealNode, { sandboxId }: Pod): Promise<void> {
  using reader = connectReader(node.endpoint);
  using remover = connectRemover(node.endpoint);
  await remover.stopSandbox(sandboxId);
  for (const container of await reader.listContainers())
    if (container.sandboxId === sandboxId) await remover.removeContainer(container.id);
  await remover.removeSandbox(sandboxId);
}

/** Ends a pod and leaves its remains: its containers exited, its sandbox not ready. */
export async function stopPod(node: RealNode, { sandboxId }: Pod): Promise<void> {
  using remover = connectRemover(node.endpoint);
  await remover.stopSandbox(sandboxId);
}
