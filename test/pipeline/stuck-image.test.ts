import { expect, onTestFinished, test, vi } from 'vitest';
import { boundlessRegistry, type Registry } from '../../lab/sim/runtime/objects.ts';
import { keepList } from '../fixtures/policy.ts';
import { MINUTE } from '../fixtures/time.ts';
import { objectResults } from './support/events.ts';
import { oldImages, pressure, usedPercent } from './support/images.ts';
import { startPipeline, TEST_BOUND_MS } from './support/pipeline.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

/** The first to go is larger than all that is to be freed, so that it alone would fill every plan. */
const registry: Registry = (reference) => ({
  ...boundlessRegistry(reference),
  sizeBytes: reference.startsWith('old/stuck') ? 1_000_000_000n : 400_000_000n,
});

test("[M17, M33, D11] in profile kubelet too, usage GC goes on past an image that the node's own file keeps", async () => {
  const pipeline = await startPipeline({
    policy: { profile: 'kubelet', keep: keepList({ unpullable: false }), evictionThresholds: [] },
    node: { registry },
  });
  onTestFinished(() => pipeline[Symbol.asyncDispose]());
  const { node, time } = pipeline;
  pipeline.writeLocalFile('keepPatterns: ["**/old/stuck:1"]\n');
  await pipeline.startNode();
  await node.kubelet.startPod({ name: 'live', namespace: 'default', containers: { app: 'app/live:1' } });
  await oldImages(pipeline, ['old/stuck:1', 'old/a:1', 'old/b:1', 'old/c:1']);

  pressure(pipeline, 86n);
  await time.passUntil('usage to fall', 10 * MINUTE, () => usedPercent(pipeline) <= 80);
  expect(node.runtime.findImage('old/stuck:1')).toBeDefined();
  const refused = (await objectResults(pipeline)).map(({ result }) =>
    'reason' in result ? result.reason : '',
  );
  expect(refused).toContain('kept-by-node');
});

test('[D11, M17] a round in which nothing could be removed: the same reclaim goes on with the next image', async () => {
  const pipeline = await startPipeline({
    policy: { keep: keepList({ unpullable: false }), evictionThresholds: [] },
    node: { registry },
  });
  onTestFinished(() => pipeline[Symbol.asyncDispose]());
  const { node, time } = pipeline;
  await pipeline.startNode();
  await node.kubelet.startPod({ name: 'live', namespace: 'default', containers: { app: 'app/live:1' } });
  await oldImages(pipeline, ['old/stuck:1', 'old/a:1', 'old/b:1', 'old/c:1']);
  const stuck = node.runtime.findImage('old/stuck:1')?.id ?? '';
  node.faults.refusedRemovals.set(stuck, 'device or resource busy');

  pressure(pipeline, 86n);
  await time.passUntil('usage to fall', 10 * MINUTE, () => usedPercent(pipeline) <= 80);
  const orders = await pipeline.events('observe');
  expect([...new Set(orders.map(({ reclaim }) => reclaim.id))]).toHaveLength(1);
  const [first] = await objectResults(pipeline);
  expect(first).toMatchObject({ object: { id: stuck }, result: { outcome: 'failed' } });
});
