import type { ContainerdNode } from '../../support/containerd-node.ts';

/** Log files that cannot be removed, and with them the containers whose logs they are. */
export async function withStuckLogs(
  node: ContainerdNode,
  uid: string,
  work: () => Promise<unknown>,
): Promise<void> {
  const change = (attribute: '+i' | '-i') =>
    node.exec(['sh', '-c', `chattr -R ${attribute} /var/log/pods/*_${uid}`]);
  await change('+i');
  await work();
  await change('-i');
}
