import { expect, test } from 'vitest';
import { killContainer, type Pod, restartContainer, runPod } from '../../support/pods.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { stopPod } from './end-pod.ts';
import type { Fleet } from './fleet/fleet.ts';
import type { FleetNode } from './fleet/fleet-node.ts';
import { policyFor } from './fleet/policies.ts';
import { objectResults, removedIds } from './outcomes.ts';

const IMAGE = 'docker.io/local/app:1';
/** Two good answers of the kubelet that lack a pod lie at least 60 s apart, and detections come every 10 s. */
const GONE_MS = 110_000;

/** Waits until a container is listed as exited: the runtime tells it a moment after the process ended. */
async function died(node: FleetNode, containerId: string): Promise<void> {
  await killContainer(node, containerId);
  await waitUntil(`${containerId} to be listed as exited`, 10_000, async () => {
    const containers = await node.runtime.listContainers();
    return containers.find(({ id }) => id === containerId)?.state === 'exited';
  });
}

/** A pod whose container crashes so often; the last one runs. All its containers, oldest first. */
async function crashingPod(node: FleetNode, name: string, crashes: number): Promise<Pod[]> {
  const options = { name, image: IMAGE };
  const pods = [await runPod(node, options)];
  for (let attempt = 1; attempt <= crashes; attempt++) {
    const last = pods.at(-1) ?? (await runPod(node, options));
    await died(node, last.containerId);
    pods.push(await restartContainer(node, last, options, attempt));
  }
  return pods;
}

async function finishedPod(node: FleetNode, name: string): Promise<Pod> {
  const pod = await runPod(node, { name, image: IMAGE });
  await died(node, pod.containerId);
  return pod;
}

const isThere = async (node: FleetNode, path: string): Promise<boolean> =>
  (await node.tryExec(['test', '-e', path, '-o', '-L', path])).exitCode === 0;

async function present(node: FleetNode) {
  const containers = (await node.runtime.listContainers()).map(({ id }) => id);
  const sandboxes = (await node.runtime.listSandboxes()).map(({ id }) => id);
  return { containers: new Set(containers), sandboxes: new Set(sandboxes) };
}

/** Pods die and are deleted; takes more than a minute, until a pod counts as gone. */
export function deadPods(fleetOf: () => Fleet): void {
  test('pods that die and are deleted lose containers, logs and sandboxes; what live and finished pods left stays [G6, G7, G16, G19, G20, G22, H2]', async () => {
    const fleet = fleetOf();
    const [node] = await Promise.all([
      fleet.startNode({ name: 'pods', kubelet: true }),
      fleet.apply(policyFor('pods')),
    ]);
    await node.importImage({ name: IMAGE });
    const [live, deleted, finished] = await Promise.all([
      crashingPod(node, 'live', 3),
      crashingPod(node, 'deleted', 1),
      finishedPod(node, 'finished'),
    ]);
    const [oldest, older, newestDead, running] = live;
    const [first, second] = deleted;
    if (!oldest || !older || !newestDead || !running || !first || !second) throw new Error('unreachable');
    await node.exec(['sh', '-c', `echo rotated > ${first.logFile}.20260101-000000`]);
    await node.kubelet?.tell([
      { pod: running, image: IMAGE },
      { pod: second, image: IMAGE },
      { pod: finished, image: IMAGE, phase: 'Succeeded' },
    ]);
    await node.startFleetgc();

    // G7: a live pod keeps the newest dead container of each name, its logs with it.
    await fleet.log.until('the older dead containers of the live pod to go', 60_000, () => {
      const removed = removedIds(fleet.log, 'pods');
      return removed.includes(oldest.containerId) && removed.includes(older.containerId);
    });

    await stopPod(node, second);
    await node.kubelet?.tell([
      { pod: running, image: IMAGE },
      { pod: finished, image: IMAGE, phase: 'Succeeded' },
    ]);
    await fleet.log.until('the sandbox of the deleted pod to go', GONE_MS, () =>
      removedIds(fleet.log, 'pods').includes(first.sandboxId),
    );

    const left = await present(node);
    expect(left.containers).toEqual(
      new Set([newestDead.containerId, running.containerId, finished.containerId]),
    );
    expect(left.sandboxes).toEqual(new Set([running.sandboxId, finished.sandboxId]));
    const gone = [oldest, older, first, second].flatMap(({ logFile, logLink }) => [logFile, logLink]);
    for (const path of [...gone, `${first.logFile}.20260101-000000`])
      expect(await isThere(node, path), path).toBe(false);
    const kept = [newestDead, running, finished].flatMap(({ logFile, logLink }) => [logFile, logLink]);
    for (const path of kept) expect(await isThere(node, path), path).toBe(true);
    const failures = objectResults(fleet.log, 'pods').filter(({ result }) => result.outcome !== 'removed');
    expect(failures).toEqual([]);
  });
}
