import type { RealNode } from '../../support/nodes/real-node.ts';
import type { FleetLog } from './fleet/fleet-log.ts';
import type { FleetKubeletNode } from './kubelet/fleet-kubelet-node.ts';

/** The kubelet tries the log directories of ended pods once a minute. */
const FAILED_MS = 90_000;

/**
 * Ends a pod while nobody can remove its logs, so that the kubelet leaves its containers: it tries them once, when one of them
 * dies, or never, when that came before the pod had ended for it; then only its log directory shows that it is done.
 */
export async function endForgotten(
  log: FleetLog,
  node: FleetKubeletNode,
  uid: string,
  end: () => Promise<void>,
  meanwhile: () => Promise<void> = async () => undefined,
): Promise<void> {
  await withStuckLogs(node, uid, async () => {
    await end();
    await log.until(`the kubelet to fail on what is left of ${uid}`, FAILED_MS, () =>
      failureOn(uid).test(node.kubelet.output()),
    );
    await meanwhile();
    await deathsAreKnown(log, node, uid);
  });
}

/** Waits until the kubelet knows of all deaths in a pod: at each it tries again, that of the sandbox included. */
async function deathsAreKnown(log: FleetLog, node: FleetKubeletNode, uid: string): Promise<void> {
  await log.until(`the sandbox of ${uid} to end`, FAILED_MS, async () => {
    const sandboxes = (await node.runtime.listSandboxes()).filter(({ podUid }) => podUid === uid);
    return sandboxes.every(({ state }) => state === 'notReady');
  });
  // The next relisting may have begun before the death.
  const known = (await node.kubelet.relistings()) + 2;
  await log.until(
    'the kubelet to learn of it',
    FAILED_MS,
    async () => (await node.kubelet.relistings()) >= known,
  );
}

const failureOn = (uid: string): RegExp =>
  new RegExp(`(failed to remove container .* log|Failed to remove pod logs directory).*${uid}`);

/** Log files that cannot be removed, and with them the containers whose logs they are. */
async function withStuckLogs(node: RealNode, uid: string, work: () => Promise<unknown>): Promise<void> {
  const change = (attribute: '+i' | '-i') =>
    node.exec(['sh', '-c', `chattr -R ${attribute} /var/log/pods/*_${uid}`]);
  await change('+i');
  await work();
  await change('-i');
}
