import { expect, onTestFinished, test, vi } from 'vitest';
import { MINUTE, SECOND } from '../fixtures/time.ts';
import { verify } from '../packages/audit/support/verify-recording.ts';
import { outgoing } from '../support/logs/log-record.ts';
import { allEnded } from './support/accounts.ts';
import { oldImages, pressure } from './support/images.ts';
import { type Pipeline, startPipeline, TEST_BOUND_MS } from './support/pipeline.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

/** As `policy apply` does, the version of each policy lies on its own topic. */
const keepVersions = ({ log, policies }: Pipeline): Promise<unknown> =>
  log.publish(
    policies().policies.map((event) => outgoing({ topic: 'policyVersions', key: event.hash, event })),
  );

test('what a node and its deciders did under pressure, twice delivered, is all verified; what went by itself is told apart', async () => {
  const pipeline = await startPipeline();
  onTestFinished(() => pipeline[Symbol.asyncDispose]());
  const { node, time, log } = pipeline;
  await keepVersions(pipeline);
  await pipeline.startNode();
  const pod = await node.kubelet.startPod({
    name: 'live',
    namespace: 'default',
    containers: { app: 'app/live:1' },
  });
  await oldImages(pipeline, ['app/a:1', 'app/b:1', 'app/c:1', 'app/d:1']);
  log.deliveries = () => 2;
  pressure(pipeline, 95n);
  await time.passUntil('images to go', 3 * MINUTE, () => node.runtime.images.size < 5);
  log.deliveries = () => 1;
  node.kubelet.crashPod(pod);
  await time.pass(30 * SECOND);
  pressure(pipeline, 50n);
  await node.runtime.pullImage('app/other:1');
  await time.pass(6 * MINUTE);
  const other = node.runtime.findImage('app/other:1')?.id ?? '';
  await node.runtime.removeImage(other);
  await time.pass(6 * MINUTE);
  await pipeline.applyPolicy({ imageGCHighThresholdPercent: 70, imageGCLowThresholdPercent: 60 });
  await keepVersions(pipeline);
  await time.pass(6 * MINUTE);
  await time.passUntil('every command to end', MINUTE, () => allEnded(pipeline));

  const found = await verify(pipeline.log);
  expect(found.deviations.first).toEqual([]);
  expect(found.unverified.first).toEqual([]);
  expect(found.counts.verified).toBe(found.counts.decisions);
  expect(found.counts.removals).toBeGreaterThan(0);
  expect(found.notOurs.first).toMatchObject([{ kind: 'image', id: other, node: 'prod/web-1' }]);
});
