import { expect, onTestFinished, test, vi } from 'vitest';
import { boundlessRegistry, type Registry } from '../../../lab/sim/runtime/objects.ts';
import { planFor } from '../../../packages/plan/plan.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { MINUTE, SECOND } from '../../fixtures/time.ts';
import { objectResults } from '../../pipeline/support/events.ts';
import { oldImages, pressure, usedPercent } from '../../pipeline/support/images.ts';
import { startPipeline, TEST_BOUND_MS } from '../../pipeline/support/pipeline.ts';
import { threshold } from '../deciders/pressure/node-disks.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

/** Half a gigabyte each, on a disk of ten. */
const registry: Registry = (reference) => ({ ...boundlessRegistry(reference), sizeBytes: 500_000_000n });

const policy: Partial<Policy> = {
  imageGCHighThresholdPercent: 100,
  evictionThresholds: [
    threshold('imagefs.available', { value: { percent: 15 }, minimumReclaim: { percent: 18 } }),
  ],
};

test('[J21] a plan on what the node was seen to be is what the pipeline then removes, in the same order', async () => {
  const pipeline = await startPipeline({ policy, node: { registry } });
  onTestFinished(() => pipeline[Symbol.asyncDispose]());
  const { node, time } = pipeline;
  await pipeline.startNode();
  await node.kubelet.startPod({ name: 'live', namespace: 'default', containers: { app: 'live:1' } });
  const finished = { name: 'job', namespace: 'default', containers: { main: 'job:1' } };
  const uid = await node.kubelet.startPod(finished);
  await oldImages(pipeline, ['old/0:1', 'old/1:1', 'old/2:1', 'old/3:1', 'old/4:1', 'old/5:1']);
  node.kubelet.finishPod(uid);
  await time.pass(MINUTE);

  // Seven images are missing, so that of the finished pod goes too.
  pressure(pipeline, 99n);
  await time.passUntil('the pressure to be relieved', 5 * MINUTE, () => usedPercent(pipeline) <= 67);
  await time.pass(SECOND);

  const asked = (await pipeline.events('inventory')).find(({ reclaim }) => reclaim?.step === 'containers');
  const gone = (await objectResults(pipeline)).filter(({ result }) => result.outcome === 'removed');
  if (asked === undefined) throw new Error('no inventory was asked for');
  const plan = planFor({
    inventory: asked,
    policies: pipeline.policies(),
    trigger: 'eviction:imagefs.available',
  });
  expect(plan.remove.map(({ kind, name, rule }) => `${kind} ${name} ${rule}`)).toEqual([
    'container default/job/main#0 G6',
    'sandbox default/job#0 H2',
    ...['old/0', 'old/1', 'old/2', 'old/3', 'old/4', 'old/5', 'library/job'].map(
      (name) => `image docker.io/${name}:1 D11`,
    ),
  ]);
  expect(plan.remove.map(({ id }) => id)).toEqual(gone.map(({ object }) => object.id));
});
