import { expect, onTestFinished, test, vi } from 'vitest';
import { HOUR, MINUTE, SECOND } from '../fixtures/time.ts';
import { BOOT_B } from '../support/manual-clock.ts';
import { expectEveryCommandAccounted, removedOnce } from './support/accounts.ts';
import { commandResults, objectResults } from './support/events.ts';
import { oldImages, pressure } from './support/images.ts';
import type { NodeRun } from './support/node-run.ts';
import { type Pipeline, startPipeline, TEST_BOUND_MS } from './support/pipeline.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

const podManifest = (name: string) => ({ name, namespace: 'default', containers: { app: `${name}:1` } });

async function startedPipeline(): Promise<{ readonly pipeline: Pipeline; readonly run: NodeRun }> {
  const pipeline = await startPipeline();
  onTestFinished(() => pipeline[Symbol.asyncDispose]());
  return { pipeline, run: await pipeline.startNode() };
}

const held = ({ node: { runtime } }: Pipeline) => ({
  images: [...runtime.images.keys()].toSorted(),
  containers: [...runtime.containers.keys()].toSorted(),
  sandboxes: [...runtime.sandboxes.keys()].toSorted(),
});

/** The machine goes down and comes up: nothing runs any more, and the kubelet is another process. */
function reboot({ node, time }: Pipeline, downMs: number): void {
  for (const id of node.runtime.sandboxes.keys()) node.runtime.stopSandbox(id);
  node.kubelet.restart();
  time.reboot(BOOT_B, downMs);
}

test('[M1, D10] an image is not older to a restarted agent than it is', async () => {
  const { pipeline, run } = await startedPipeline();
  const { node, time } = pipeline;
  await node.kubelet.startPod(podManifest('live'));
  await oldImages(pipeline, ['old/a:1']);
  const young = await node.runtime.pullImage('young/b:1');
  await time.pass(90 * SECOND);
  await run.stop();
  pressure(pipeline);
  const pulledUnseen = await node.runtime.pullImage('unseen/c:1');
  await pipeline.startNode();
  await time.passUntil('the old image to go', MINUTE, () => node.runtime.findImage('old/a:1') === undefined);
  expect([node.runtime.images.has(young), node.runtime.images.has(pulledUnseen)]).toEqual([true, true]);

  await time.passUntil('the other to grow old', 5 * MINUTE, () => !node.runtime.images.has(young));
  expect(node.runtime.images.has(pulledUnseen)).toBe(true);
});

test('[A7, A8, K1] to a restarted agent no pod is gone before another minute without it', async () => {
  const { pipeline, run } = await startedPipeline();
  const { node, time } = pipeline;
  await node.kubelet.startPod(podManifest('live'));
  const dead = await node.kubelet.startPod(podManifest('dead'));
  await time.pass(10 * SECOND);
  node.kubelet.deletePod(dead);
  await time.pass(50 * SECOND);
  const before = held(pipeline);
  expect(before.containers).toHaveLength(2);
  await run.stop();
  const again = await pipeline.startNode();
  await time.pass(55 * SECOND);
  expect(held(pipeline)).toEqual(before);
  await again.stop();
});

test.each<{ name: string; disturb: (pipeline: Pipeline) => void }>([
  { name: 'fails', disturb: ({ node }) => (node.faults.podsUnreadable = true) },
  {
    name: 'is empty',
    disturb: ({ node }) => {
      for (const uid of [...node.kubelet.pods.keys()]) node.kubelet.deletePod(uid);
    },
  },
])(
  '[A7, A8, K1, M3] after a reboot with a pod source that $name, under pressure, nothing of a pod goes',
  async ({ disturb }) => {
    const { pipeline, run } = await startedPipeline();
    const { node, time } = pipeline;
    await node.kubelet.startPod(podManifest('live'));
    await node.kubelet.startPod(podManifest('another'));
    await time.pass(3 * MINUTE);
    await run.stop();
    reboot(pipeline, HOUR);
    disturb(pipeline);
    pressure(pipeline);
    const before = held(pipeline);

    await pipeline.startNode();
    await time.pass(6 * MINUTE);
    expect(held(pipeline)).toEqual(before);
    expect(await objectResults(pipeline)).toEqual([]);
  },
);

test('[M2, D10] over a reboot an image gets no older by the time the machine was off', async () => {
  const { pipeline, run } = await startedPipeline();
  const { node, time } = pipeline;
  await node.kubelet.startPod(podManifest('live'));
  const young = await node.runtime.pullImage('young:1');
  await time.pass(60 * SECOND);
  await run.stop();
  reboot(pipeline, 20 * HOUR);
  await node.kubelet.restartContainers([...node.kubelet.pods.keys()][0] ?? '');
  pressure(pipeline);
  await pipeline.startNode();
  await time.pass(45 * SECOND);
  expect(node.runtime.images.has(young)).toBe(true);
  await time.passUntil('its minimum age', 5 * MINUTE, () => !node.runtime.images.has(young));
});

test('a command of before the reboot is refused, whatever is left of its life', async () => {
  const { pipeline, run } = await startedPipeline();
  const { node, time, log } = pipeline;
  await node.kubelet.startPod(podManifest('live'));
  await oldImages(pipeline, ['old/a:1', 'old/b:1', 'old/c:1', 'old/d:1']);
  let commands = 0;
  log.beforePublish = (records) => {
    if (!records.some(({ topic }) => topic === 'gc.node.commands')) return;
    commands++;
    run.kill();
  };
  pressure(pipeline);
  await time.passUntil('a command', MINUTE, () => commands > 0);
  log.beforePublish = () => undefined;
  reboot(pipeline, SECOND);
  const before = held(pipeline);
  node.faults.podsUnreadable = true;
  node.disk.otherBytes = 0n;

  await pipeline.startNode();
  await time.pass(MINUTE);
  expect((await commandResults(pipeline)).map(({ result }) => result)).toMatchObject([
    { outcome: 'refused', reason: 'other-boot' },
  ]);
  expect(held(pipeline)).toEqual(before);
});

test('killed while it removes and started again: every object has one result, and nothing goes twice', async () => {
  const { pipeline, run } = await startedPipeline();
  const { node, time } = pipeline;
  await node.kubelet.startPod(podManifest('live'));
  await oldImages(pipeline, ['old/a:1', 'old/b:1', 'old/c:1', 'old/d:1', 'old/e:1', 'old/f:1']);
  let killed = 0;
  node.faults.afterCall('removeImage', () => {
    killed++;
    run.kill();
  });
  const images = node.runtime.images.size;
  pressure(pipeline);
  await time.passUntil('the removal', 2 * MINUTE, () => killed > 0);
  await pipeline.startNode();
  await time.pass(MINUTE);
  await expectEveryCommandAccounted(pipeline);
  const removed = await removedOnce(pipeline);
  expect(new Set(removed).size).toBe(removed.length);
  expect(removed.length).toBe(images - node.runtime.images.size);
  expect(removed.filter((id) => node.runtime.images.has(id))).toEqual([]);
});

test.each([false, true])(
  '[C4, D12] an image that is pulled again right after it went is a new one, with the agent restarted in between: %s',
  async (isRestarted) => {
    const { pipeline, run } = await startedPipeline();
    const { node, time } = pipeline;
    await node.kubelet.startPod(podManifest('live'));
    await oldImages(pipeline, ['old/a:1', 'old/b:1']);
    pressure(pipeline);
    await time.passUntil('it to go', MINUTE, () => node.runtime.findImage('old/a:1') === undefined);
    const again = await node.runtime.pullImage('old/a:1');
    pressure(pipeline, 50n);
    await time.pass(3 * SECOND);
    if (isRestarted) {
      await run.stop();
      await pipeline.startNode();
    }
    await time.pass(15 * SECOND);
    pressure(pipeline);
    await time.pass(MINUTE);
    expect(node.runtime.images.has(again)).toBe(true);
    await time.passUntil('its minimum age', 3 * MINUTE, () => !node.runtime.images.has(again));
  },
);
