import { expect, onTestFinished, test, vi } from 'vitest';
import type { OutgoingRecord } from '../../packages/log/port.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { MINUTE } from '../fixtures/time.ts';
import { imageCommands, objectResults } from './support/events.ts';
import { oldImages, pressure } from './support/images.ts';
import { type Pipeline, startPipeline, TEST_BOUND_MS } from './support/pipeline.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

const IMAGES = ['old/a:1', 'old/b:1', 'old/c:1', 'old/d:1', 'old/e:1', 'old/f:1', 'old/g:1', 'old/h:1'];
const podManifest = (image: string) => ({ name: 'late', namespace: 'default', containers: { app: image } });

async function nodeWithOldImages(): Promise<Pipeline> {
  const pipeline = await startPipeline({ node: { hasContainerdApi: true } });
  onTestFinished(() => pipeline[Symbol.asyncDispose]());
  await pipeline.startNode();
  await pipeline.node.kubelet.startPod({ name: 'live', namespace: 'default', containers: { app: 'app:1' } });
  await oldImages(pipeline, IMAGES);
  return pipeline;
}

/** Calls `act` when the first command about images is about to lie on the log. */
function beforeFirstCommand({ log }: Pipeline, act: () => Promise<unknown>): void {
  const isCommand = ({ topic, value }: OutgoingRecord): boolean =>
    topic === TOPICS.commands.name && String(value).includes('"image-removal"');
  log.beforePublish = async (records) => {
    if (!records.some(isCommand)) return;
    log.beforePublish = () => undefined;
    await act();
  };
}

const outcomeOf = async (pipeline: Pipeline, id: string) =>
  (await objectResults(pipeline)).filter(({ object }) => object.id === id).map(({ result }) => result);

test.each<{ name: string; use: (pipeline: Pipeline, image: string) => Promise<unknown>; says: RegExp }>([
  {
    name: 'a container',
    use: ({ node }, image) => node.kubelet.startPod(podManifest(image)),
    says: /^container .* uses the image by now$/,
  },
  {
    name: 'a container that ended already',
    use: async ({ node }, image) => node.kubelet.finishPod(await node.kubelet.startPod(podManifest(image))),
    says: /^container .* uses the image by now$/,
  },
  {
    name: 'a container that CRI does not list',
    use: async ({ node }, image) =>
      node.runtime.otherContainers.set('by-hand', node.runtime.findImage(image)?.repoTags[0] ?? ''),
    says: /^container by-hand uses the image by now$/,
  },
])(
  '[K2, K5, M5] an image that $name uses between decision and removal stays, and the result says so',
  async ({ use, says }) => {
    const pipeline = await nodeWithOldImages();
    const { node, time } = pipeline;
    const [first = ''] = IMAGES;
    const id = node.runtime.findImage(first)?.id ?? '';
    beforeFirstCommand(pipeline, () => use(pipeline, first));
    pressure(pipeline);
    await time.passUntil(
      'a result about the image',
      2 * MINUTE,
      async () => (await outcomeOf(pipeline, id)).length > 0,
    );
    await time.pass(MINUTE);

    const [command] = await imageCommands(pipeline);
    expect(command?.items.map((item) => item.id)).toContain(id);
    expect(await outcomeOf(pipeline, id)).toEqual([
      { outcome: 'refused', reason: 'in-use', message: expect.stringMatching(says) },
    ]);
    expect(node.runtime.images.has(id)).toBe(true);
  },
);

test('[K2, M5] an image that becomes used while the one before it goes stays', async () => {
  const pipeline = await nodeWithOldImages();
  const { node, time } = pipeline;
  const [, second = ''] = IMAGES;
  const id = node.runtime.findImage(second)?.id ?? '';
  node.faults.afterCall('removeImage', () => node.kubelet.startPod(podManifest(second)));
  pressure(pipeline);
  await time.passUntil(
    'a result about the image',
    2 * MINUTE,
    async () => (await outcomeOf(pipeline, id)).length > 0,
  );
  expect(await outcomeOf(pipeline, id)).toMatchObject([{ outcome: 'refused', reason: 'in-use' }]);
  expect(node.runtime.images.has(id)).toBe(true);
});

test('[M10] an image that was pinned between decision and removal stays', async () => {
  const pipeline = await nodeWithOldImages();
  const { node, time } = pipeline;
  const [first = ''] = IMAGES;
  const image = node.runtime.findImage(first);
  if (!image) throw new Error(`${first} is there`);
  beforeFirstCommand(pipeline, async () => node.runtime.addImage({ ...image, pinned: true }));
  pressure(pipeline);
  await time.passUntil(
    'a result about the image',
    2 * MINUTE,
    async () => (await outcomeOf(pipeline, image.id)).length > 0,
  );
  expect(await outcomeOf(pipeline, image.id)).toMatchObject([{ outcome: 'refused', reason: 'pinned' }]);
  expect(node.runtime.images.has(image.id)).toBe(true);
});

test('[M31] an image that somebody else removed between decision and removal is a success', async () => {
  const pipeline = await nodeWithOldImages();
  const { node, time } = pipeline;
  const [first = ''] = IMAGES;
  const id = node.runtime.findImage(first)?.id ?? '';
  beforeFirstCommand(pipeline, async () => node.runtime.removeImage(first));
  pressure(pipeline);
  await time.passUntil(
    'a result about the image',
    2 * MINUTE,
    async () => (await outcomeOf(pipeline, id)).length > 0,
  );
  expect(await outcomeOf(pipeline, id)).toEqual([{ outcome: 'not-found' }]);
});
