import { expect, onTestFinished, test, vi } from 'vitest';
import { newestDeciders } from '../../packages/audit/simulate/compare.ts';
import { simulate } from '../../packages/audit/simulate/simulate.ts';
import { policySet } from '../../packages/decision/policy-set.ts';
import { makeReport } from '../../packages/read-model/report.ts';
import { appliedPolicy } from '../fixtures/applied-policy.ts';
import { MINUTE, SECOND } from '../fixtures/time.ts';
import { allEnded } from './support/accounts.ts';
import { oldImages, pressure, usedPercent } from './support/images.ts';
import { type Pipeline, startPipeline, TEST_BOUND_MS } from './support/pipeline.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

const all = { range: { fromMs: null, toMs: null }, onProgress: () => undefined } as const;
const running = new AbortController().signal;

/** The policy that was in force, or one with a threshold that is never met, over the recorded past. */
async function simulated({ log }: Pipeline, high: number) {
  const policy = policySet(
    'node',
    [appliedPolicy({ evictionThresholds: [], imageGCHighThresholdPercent: high })],
    [],
  );
  const comparison = { policy, against: null, regretWindowMs: 60 * MINUTE, deciders: await newestDeciders() };
  return await simulate({ log, ...all, comparison, isWanted: () => true }, running);
}

test('what a node recorded under pressure: its own policy again gives the same removals, a higher threshold fewer, and the report tells the image that came back', async () => {
  const pipeline = await startPipeline({ policy: { evictionThresholds: [] } });
  onTestFinished(() => pipeline[Symbol.asyncDispose]());
  const { node, time, log } = pipeline;
  await pipeline.startNode();
  await node.kubelet.startPod({ name: 'live', namespace: 'default', containers: { app: 'app/live:1' } });
  await oldImages(pipeline, ['app/a:1', 'app/b:1', 'app/c:1', 'app/d:1', 'app/e:1']);
  const oldest = node.runtime.findImage('app/a:1')?.id ?? '';
  pressure(pipeline, 88n);
  await time.passUntil('usage to fall', 3 * MINUTE, () => usedPercent(pipeline) < 80);
  await time.passUntil('every command to end', MINUTE, () => allEnded(pipeline));
  pressure(pipeline, 50n);
  expect(node.runtime.images.has(oldest)).toBe(false);
  await node.runtime.pullImage('app/a:1');
  await time.pass(2 * MINUTE + 30 * SECOND);

  const report = await makeReport({ log, nowMs: Date.now(), ...all }, running);
  const gone = report.removed.byRule.filter(({ kind }) => kind === 'image');
  expect(gone).toMatchObject([{ rule: 'D11' }]);
  expect(report.pulledAgain).toMatchObject([{ imageId: oldest, name: 'docker.io/app/a:1' }]);

  const again = await simulated(pipeline, 85);
  const happened = { removed: { images: gone[0]?.objects }, regrets: 1 };
  expect(again.total).toMatchObject({ nodes: 1, policy: happened, against: happened });
  expect(again.nodes[0]?.estimatedFromMs.policy).toBeNull();
  const never = await simulated(pipeline, 99);
  expect(never.total).toMatchObject({ policy: { removed: { images: 0 }, regrets: 0 }, against: happened });
});
