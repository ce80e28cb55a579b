import { expect, test } from 'vitest';
import { waitUntil } from '../wait-until.ts';
import { startKubeletNode } from './kubelet-node.ts';

const IMAGE = 'docker.io/local/app:1';
const BOUND_MS = 30_000;

test('a node with a real kubelet runs pods from files, tells of them and of its disk, also after its restart', async () => {
  await using node = await startKubeletNode({ name: 'kubelet', diskMebibytes: 300 });
  const { kubelet } = node;
  await node.importImage({ name: IMAGE });
  const pod = { name: 'one', containers: [{ name: 'main', image: IMAGE, does: { failures: 1 } }] };

  const uid = await kubelet.put(pod);

  const running = (restarts: number) => () =>
    kubelet.pods().then((pods) =>
      pods.some(({ metadata, status: { containerStatuses } }) => {
        const [main] = containerStatuses;
        return metadata.uid === uid && main?.restartCount === restarts && main.state?.running !== undefined;
      }),
    );
  await waitUntil('the pod to fail once and to run', BOUND_MS, running(1));
  expect(await kubelet.previousLog('one', 'main')).toBe('failure 0\n');
  expect(await kubelet.imageDiskBytes()).toBe((await node.disk()).capacityBytes);
  await kubelet.restart();
  await waitUntil('the pod to be as it was', BOUND_MS, running(1));
  await kubelet.remove('one');
  await waitUntil('the pod to be forgotten', BOUND_MS, async () => (await kubelet.pods()).length === 0);
});
