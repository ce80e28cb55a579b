import { expect, onTestFinished, test, vi } from 'vitest';
import type { Policy } from '../../schemas/policy/policy.ts';
import { MINUTE, SECOND } from '../fixtures/time.ts';
import { threshold } from '../packages/deciders/pressure/node-disks.ts';
import { commandResults, objectResults } from './support/events.ts';
import { oldImages, pressure, usedPercent } from './support/images.ts';
import { type Pipeline, startPipeline, TEST_BOUND_MS } from './support/pipeline.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

/** Together more than the reclaim wants, on a disk of ten gigabytes. */
const IMAGES = Array.from({ length: 10 }, (_, index) => `app/${index}:1`);

const policy: Partial<Policy> = {
  imageGCHighThresholdPercent: 100,
  evictionThresholds: [
    threshold('imagefs.available', { value: { percent: 15 }, minimumReclaim: { percent: 10 } }),
  ],
  // A dead container stays for two minutes, and for longer while nobody looks.
  maximumDeadContainersPerContainer: 0,
  minimumContainerTTLMs: 2 * MINUTE,
};

/** A node with images that may go and one dead container that may go too, at which nobody has looked since. */
async function pipelineWithWaste(): Promise<Pipeline> {
  const pipeline = await startPipeline({ policy });
  onTestFinished(() => pipeline[Symbol.asyncDispose]());
  const { node, time } = pipeline;
  await pipeline.startNode();
  await oldImages(pipeline, IMAGES);
  const uid = await node.kubelet.startPod({
    name: 'crashing',
    namespace: 'default',
    containers: { app: 'live:1' },
  });
  await time.pass(SECOND);
  node.kubelet.crashPod(uid);
  await node.kubelet.restartContainers(uid);
  await time.pass(3 * MINUTE);
  expect(await pipeline.events('observe')).toEqual([]);
  expect(await pipeline.events('commands')).toEqual([]);
  return pipeline;
}

test('[J9, J14, J21, M14, M22] an eviction signal: containers go, then images until the threshold with its minimum reclaim is measured, and no more', async () => {
  const pipeline = await pipelineWithWaste();
  const { time } = pipeline;
  pressure(pipeline, 90n);
  const isRelieved = () => usedPercent(pipeline) <= 75;
  await time.passUntil('the pressure to be relieved', 2 * MINUTE, isRelieved);
  await time.pass(SECOND);

  const orders = await pipeline.events('observe');
  const [first] = orders;
  expect(first?.reclaim).toMatchObject({
    cause: { signal: 'imagefs.available', threshold: '15%' },
    // 15 % and 10 % of the disk, each with a fraction of 32 bits.
    target: { filesystem: 'imagefs', resource: 'availableBytes', atLeast: '2500000073' },
    actions: ['containers', 'images'],
  });
  expect(new Set(orders.map(({ reclaim }) => reclaim.id)).size).toBe(1);
  expect(orders.slice(0, 2).map(({ reclaim }) => reclaim.step)).toEqual(['containers', 'images']);
  const gone = (await objectResults(pipeline)).map(({ object, result }) => [object.kind, result.outcome]);
  expect(gone[0]).toEqual(['container', 'removed']);
  const images = gone.slice(1).filter(([, outcome]) => outcome === 'removed');
  expect(images.every(([kind]) => kind === 'image')).toBe(true);
  expect(images.length).toBeGreaterThan(0);
  expect(images.length).toBeLessThan(IMAGES.length);
  expect((await commandResults(pipeline)).at(-1)?.result).toMatchObject({ targetReached: true });

  await time.pass(5 * MINUTE);
  expect(await pipeline.events('observe')).toHaveLength(orders.length);
  expect((await objectResults(pipeline)).length).toBe(gone.length);
});

test('[J10, M22] between the threshold and its minimum reclaim nothing begins, and what began goes on', async () => {
  const pipeline = await pipelineWithWaste();
  const { time, node } = pipeline;
  pressure(pipeline, 80n);
  await time.pass(MINUTE);
  expect(await pipeline.events('observe')).toEqual([]);

  pressure(pipeline, 90n);
  await time.passUntil('the first order', MINUTE, async () => (await pipeline.events('observe')).length > 0);
  node.disk.otherBytes -= 1_000_000_000n;
  await time.passUntil('the pressure to be relieved', 2 * MINUTE, () => usedPercent(pipeline) <= 75);
});
