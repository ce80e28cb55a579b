import { connectRemover } from '../../../../packages/cri/client.ts';
import type { RuntimeContainer } from '../../../../packages/cri/port.ts';
import { compareText } from '../../../../schemas/events/text-order.ts';
import type { KubeletPodStatus } from '../../../support/nodes/kubelet-answers.ts';
import type { WantedPod } from '../../../support/nodes/wanted-pod.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { FleetKubeletNode } from './fleet-kubelet-node.ts';

const SETTLED_MS = 90_000;
const ENDED_MS = 60_000;

/** What the runtime holds of a pod that the kubelet made. */
export interface PodRemains {
  readonly uid: string;
  readonly containers: readonly RuntimeContainer[];
  readonly sandboxIds: readonly string[];
  /** Log directories of the pod and links to its containers' logs. */
  readonly logs: readonly string[];
}

/** The pod's containers in all states, by name, the oldest attempt first. */
export async function containersOf(
  node: FleetKubeletNode,
  { name }: Pick<WantedPod, 'name'>,
): Promise<readonly RuntimeContainer[]> {
  const ofPod = (await node.runtime.listContainers()).filter(
    ({ labels }) => labels['io.kubernetes.pod.name'] === `${name}-${node.name}`,
  );
  return ofPod.toSorted((a, b) => compareText(a.name, b.name) || a.attempt - b.attempt);
}

/** How often the runtime holds each container of the pod, in any state, in the order of their names. */
export async function copiesOf(node: FleetKubeletNode, pod: WantedPod): Promise<readonly number[]> {
  const byName = Map.groupBy(await containersOf(node, pod), ({ name }) => name);
  return [...byName.values()].map(({ length }) => length);
}

/** What of a pod is still there, known by its UID. */
export async function remainsOf(node: FleetKubeletNode, uid: string): Promise<PodRemains> {
  const containers = (await node.runtime.listContainers()).filter(
    ({ labels }) => labels['io.kubernetes.pod.uid'] === uid,
  );
  const sandboxes = (await node.runtime.listSandboxes()).filter(({ podUid }) => podUid === uid);
  const { output } = await node.tryExec([
    'find',
    '/var/log/pods',
    '/var/log/containers',
    '-lname',
    `*${uid}*`,
    '-o',
    '-name',
    `*${uid}`,
  ]);
  return {
    uid,
    containers,
    sandboxIds: sandboxes.map(({ id }) => id),
    logs: output.split('\n').filter(Boolean),
  };
}

/** Puts the pods and waits until each container has failed as often as it should; resolves to their UIDs. */
export async function runPods(
  node: FleetKubeletNode,
  pods: readonly WantedPod[],
): Promise<ReadonlyMap<string, string>> {
  const uids = new Map(
    await Promise.all(pods.map(async (pod) => [pod.name, await node.kubelet.put(pod)] as const)),
  );
  await waitUntil(`${pods.map(({ name }) => name).join(', ')} to settle`, SETTLED_MS, async () => {
    const told = await node.kubelet.pods();
    const unsettled = pods.filter(
      (pod) =>
        !isSettled(
          pod,
          told.find(({ metadata }) => metadata.uid === uids.get(pod.name)),
        ),
    );
    await Promise.all(unsettled.map((pod) => node.kubelet.nudge(pod)));
    return unsettled.length === 0;
  });
  return uids;
}

/** Whether the kubelet tells that all of the pod's containers are where they stay. */
function isSettled({ containers, deadlineSeconds }: WantedPod, told: KubeletPodStatus | undefined): boolean {
  if (deadlineSeconds !== undefined) return told?.status.phase === 'Failed';
  return containers.every(({ name, does }) => {
    const status = told?.status.containerStatuses.find((one) => one.name === name);
    if (does && 'exitCode' in does) return status?.state?.terminated !== undefined;
    return status?.state?.running !== undefined && status.restartCount === (does?.failures ?? 0);
  });
}

/**
 * Deletes a pod and takes away what the kubelet leaves of it, sooner than its own collector would. Where the kubelet
 * collects a container in the same moment the runtime refuses one of the two; what counts is that the container goes.
 */
export async function endStaticPod(node: FleetKubeletNode, name: string): Promise<void> {
  using remover = connectRemover(node.endpoint);
  await node.kubelet.remove(name);
  await waitUntil(`the containers of ${name} to end`, ENDED_MS, async () =>
    (await containersOf(node, { name })).every(({ state }) => state === 'exited'),
  );
  const left = await containersOf(node, { name });
  const refused = (await Promise.allSettled(left.map(({ id }) => remover.removeContainer(id))))
    .filter((outcome) => outcome.status === 'rejected')
    .map(({ reason }) => String(reason));
  await waitUntil(
    `the containers of ${name} to go (refused: ${refused.join('; ') || 'none'})`,
    ENDED_MS,
    async () => (await containersOf(node, { name })).length === 0,
  );
}
