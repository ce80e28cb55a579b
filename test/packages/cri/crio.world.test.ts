import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectRemover } from '../../../packages/cri/client.ts';
import { connectWorkload, kubeletLabels } from '../../support/nodes/cri-workload.ts';
import { PAUSE_IMAGE, type RealNode, startRealNode } from '../../support/nodes/real-node.ts';
import { killContainer, runPod } from '../../support/pods.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { SETTLE_MS } from './contract/node.ts';
import { realContractNode } from './contract/real-node.ts';
import { readThroughProxy } from './contract/through-proxy.ts';
import { TRAITS } from './contract/traits.ts';
import { runtimeContract } from './contract.ts';

runtimeContract('CRI-O 1.34', TRAITS['CRI-O 1.34'], () => realContractNode('crio-1.34'));
runtimeContract('CRI-O 1.34, read through the proxy', TRAITS['CRI-O 1.34'], async () =>
  readThroughProxy(await realContractNode('crio-1.34')),
);

describe('CRI-O 1.34', () => {
  let node: RealNode;
  beforeAll(async () => {
    node = await startRealNode({ runtime: 'crio-1.34' });
  });
  afterAll(() => node?.[Symbol.asyncDispose]());

  test('[M9] a sandbox with a process of its own tells its image, and keeps it', async () => {
    using remover = connectRemover(node.endpoint);
    using workload = connectWorkload(node.endpoint);
    const identity = { name: 'sharing', uid: 'uid-of-sharing', namespace: 'crio' };
    const pod = { ...identity, attempt: 0, logDirectory: '', labels: kubeletLabels(identity) };
    const id = await workload.runSandbox({ ...pod, sharesProcesses: true });

    expect(await remover.sandboxStatus(id)).toEqual({ id, state: 'ready', image: PAUSE_IMAGE });
    const pause = (await remover.listImages()).find(({ repoTags }) => repoTags.includes(PAUSE_IMAGE));
    await expect(remover.removeImage(pause?.id ?? '')).rejects.toMatchObject({
      code: 'RUNTIME_IMAGE_IN_USE',
    });
  });

  test('with enable_pod_events it tells that a container died', async () => {
    const script = 'mkdir -p $0; printf "[crio.runtime]\\nenable_pod_events = true\\n" > $0/events.conf';
    await node.exec(['sh', '-c', script, '/etc/crio/crio.conf.d']);
    await node.stopRuntime();
    await node.startRuntime();
    await node.importImage({ name: 'docker.io/local/dying:1' });
    using remover = connectRemover(node.endpoint);
    const stop = new AbortController();
    const events: string[] = [];
    const collected = (async () => {
      for await (const { containerId, kind } of remover.containerEvents(stop.signal))
        events.push(`${containerId} ${kind}`);
    })();
    const { containerId } = await runPod(node, { name: 'dying', image: 'docker.io/local/dying:1' });
    await killContainer(node, containerId);
    await waitUntil('the event that it stopped', SETTLE_MS, () => events.includes(`${containerId} stopped`));
    stop.abort();
    await collected;
  });
});
