import { expect, onTestFinished, test, vi } from 'vitest';
import { boundlessRegistry, type Registry } from '../../lab/sim/runtime/objects.ts';
import { keepList } from '../fixtures/policy.ts';
import { MINUTE, SECOND } from '../fixtures/time.ts';
import { imageCommands, objectResults } from './support/events.ts';
import { usedPercent } from './support/images.ts';
import { type Pipeline, startPipeline, TEST_BOUND_MS } from './support/pipeline.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

const IMAGE_BYTES = 500_000_000n;

/** Every image has half a gigabyte; what is named `local/…` was only imported, so nobody can pull it again. */
const registry: Registry = (reference) => ({
  ...boundlessRegistry(reference),
  sizeBytes: IMAGE_BYTES,
  ...(reference.startsWith('local/') && { digest: '' }),
});

/** A pod runs on the image for a while and is deleted, which leaves its time of last use behind. */
async function use({ node, time }: Pipeline, image: string): Promise<void> {
  const uid = await node.kubelet.startPod({
    name: image.replaceAll(/[/:]/g, '-'),
    namespace: 'default',
    containers: { app: image },
  });
  await time.pass(12 * SECOND);
  node.kubelet.deletePod(uid);
}

test('[D6, D8, D10, M5, M10, M11] images are pulled past the high threshold: usage falls below the low one, and only what may goes', async () => {
  const pipeline = await startPipeline({
    policy: { keep: keepList({ patterns: ['docker.io/kept/*'] }) },
    node: { registry },
  });
  onTestFinished(() => pipeline[Symbol.asyncDispose]());
  const { node, time } = pipeline;
  const { runtime, kubelet } = node;
  const idOf = (image: string): string => runtime.findImage(image)?.id ?? `no ${image}`;
  await pipeline.startNode();
  await kubelet.startPod({ name: 'live', namespace: 'default', containers: { app: 'app/live:1' } });
  const stays = ['app/live:1', 'kept/base:1', 'local/built:1', 'pinned/agent:1'];
  for (const image of stays) await runtime.pullImage(image);
  const pinned = runtime.findImage('pinned/agent:1');
  if (pinned) runtime.addImage({ ...pinned, pinned: true });
  const used = ['app/first:1', 'app/second:1', 'app/third:1', 'app/fourth:1'];
  for (const image of used) await use(pipeline, image);
  await runtime.pullImage('app/never:1');
  const order = ['app/never:1', ...used].map(idOf);
  await time.pass(2.5 * MINUTE);
  expect(await imageCommands(pipeline)).toEqual([]);

  const young = Array.from({ length: 9 }, (_, index) => `young/image-${index}:1`);
  for (const image of young) await runtime.pullImage(image);
  expect(usedPercent(pipeline)).toBeGreaterThanOrEqual(85);
  await time.passUntil('usage to fall', 2 * MINUTE, () => usedPercent(pipeline) < 80);

  const gone = (await objectResults(pipeline)).filter(({ object }) => object.kind === 'image');
  expect(gone.map(({ object, result }) => [object.id, result.outcome])).toEqual(
    order.slice(0, 3).map((id) => [id, 'removed']),
  );
  const left = [...stays, 'app/third:1', 'app/fourth:1', ...young].map((image) => runtime.findImage(image));
  expect(left).not.toContain(undefined);
});
