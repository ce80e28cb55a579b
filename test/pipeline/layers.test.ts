import { expect, onTestFinished, test, vi } from 'vitest';
import { boundlessRegistry, type Registry, type RegistryImage } from '../../lab/sim/runtime/objects.ts';
import { digestOf, runtimeImage } from '../fixtures/listing.ts';
import { MINUTE } from '../fixtures/time.ts';
import { commandResults, imageCommands } from './support/events.ts';
import { oldImages, pressure, usedPercent } from './support/images.ts';
import { startPipeline, TEST_BOUND_MS } from './support/pipeline.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

const MB = 1_000_000n;
const BASE = { digest: digestOf('base'), packedBytes: 200n * MB, unpackedBytes: 400n * MB };

/** Images of `shop/` have a base in common, and 110 MB of their own. What is listed is packed. */
const registry: Registry = (reference): RegistryImage => {
  const image = { ...boundlessRegistry(reference), sizeBytes: 300n * MB };
  if (!reference.startsWith('shop/')) return image;
  const own = { digest: digestOf(`own of ${reference}`), packedBytes: 30n * MB, unpackedBytes: 80n * MB };
  return { ...image, sizeBytes: 230n * MB, layers: [BASE, own] };
};

const SHARING = ['shop/a:1', 'shop/b:1', 'shop/c:1', 'shop/d:1'];
const OTHERS = ['x/a:1', 'x/b:1', 'x/c:1', 'x/d:1', 'x/e:1', 'x/f:1'];

test('[M7, M12, D12] images that share a base: one command takes what the disk lacks, the result is what was counted, and an imported image stays', async () => {
  const pipeline = await startPipeline({ node: { registry, hasContainerdApi: true } });
  onTestFinished(() => pipeline[Symbol.asyncDispose]());
  const { node, time } = pipeline;
  await pipeline.startNode();
  await node.kubelet.startPod({ name: 'live', namespace: 'default', containers: { app: 'app/live:1' } });
  // It would be the first to go.
  node.runtime.addImage({ ...runtimeImage('imported'), labels: {}, isPulled: false });
  await oldImages(pipeline, [...SHARING, ...OTHERS]);
  pressure(pipeline, 90n);
  await time.passUntil('usage to fall', 2 * MINUTE, () => usedPercent(pipeline) <= 80);
  await time.pass(MINUTE);

  const [command, ...more] = await imageCommands(pipeline);
  expect(more).toEqual([]);
  const ids = SHARING.map((reference) => boundlessRegistry(reference).id);
  expect(command?.items).toMatchObject(
    [110, 110, 110, 710].map((megabytes, index) => ({
      id: ids[index],
      estimatedBytes: megabytes * Number(MB),
      sizeBytes: 230 * Number(MB),
    })),
  );
  const [result] = (await commandResults(pipeline)).map((event) => event.result);
  expect(result).toMatchObject({ removed: 4, estimatedBytes: 1040 * Number(MB), targetReached: true });
  const measured = result?.outcome === 'done' ? result.measured : null;
  expect(BigInt(measured?.afterBytes ?? 0) - BigInt(measured?.beforeBytes ?? 0)).toBe(1040n * MB);
  const left = [...node.runtime.images.values()].flatMap(({ repoTags }) => repoTags);
  expect(left).toHaveLength(OTHERS.length + 3);
  expect(left).toContainEqual(expect.stringContaining('/imported:'));
  expect(left.filter((name) => name.includes('shop/'))).toEqual([]);
});
