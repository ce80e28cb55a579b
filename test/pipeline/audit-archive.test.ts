import { expect, onTestFinished, test, vi } from 'vitest';
import { openArchiveLog } from '../../packages/archive/read-archive.ts';
import { findDecider } from '../../packages/audit/deciders/deciders.ts';
import { explain } from '../../packages/audit/explain/explain.ts';
import { readPoliciesInForce } from '../../packages/audit/policies/policies-in-force.ts';
import { readPolicyHistory } from '../../packages/audit/policies/policy-history.ts';
import { verifyLog } from '../../packages/audit/verify/log.ts';
import { createVerifier } from '../../packages/audit/verify/partition.ts';
import type { LogReader } from '../../packages/log/port.ts';
import { MINUTE } from '../fixtures/time.ts';
import { asking } from '../packages/audit/explain/support/recorded-log.ts';
import { archived, checked } from '../packages/audit/support/archives.ts';
import { outgoing } from '../support/logs/log-record.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { allEnded } from './support/accounts.ts';
import { oldImages, pressure } from './support/images.ts';
import { startPipeline, TEST_BOUND_MS } from './support/pipeline.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

const onProgress = () => undefined;
const range = { fromMs: null, toMs: null };

async function answersOf(log: LogReader, names: readonly string[]) {
  const { signal } = new AbortController();
  const explanations = [];
  for (const name of names) explanations.push(await explain(asking(name), { log, signal, onProgress }));
  const policies = await readPolicyHistory(log, signal);
  const reading = { nowMs: Date.now(), deletes: true };
  const inForce = await readPoliciesInForce(log, { ...reading, written: policies }, signal);
  const verifier = createVerifier({ log, policies, inForce, findDecider, range, ...reading, headed: null });
  const verified = await verifyLog({ policies, verifiers: [verifier], onProgress }, signal);
  return { explanations, verified };
}

test('an archive gives the answers of the log that it was made of', async () => {
  const pipeline = await startPipeline();
  onTestFinished(() => pipeline[Symbol.asyncDispose]());
  const { node, time, log, policies } = pipeline;
  const directory = temporaryDirectory();
  await log.publish(
    policies().policies.map((event) => outgoing({ topic: 'policyVersions', key: event.hash, event })),
  );
  await pipeline.startNode();
  await node.kubelet.startPod({ name: 'live', namespace: 'default', containers: { app: 'app/live:1' } });
  await oldImages(pipeline, ['app/a:1', 'app/b:1']);
  await archived(log, directory);
  pressure(pipeline, 95n);
  await time.passUntil('images to go', 3 * MINUTE, () => node.runtime.images.size < 3);
  pressure(pipeline, 50n);
  await time.pass(2 * MINUTE);
  await time.passUntil('every command to end', MINUTE, () => allEnded(pipeline));
  await archived(log, directory);

  const names = ['app/a:1', 'app/live:1', 'node/web-1', 'nobody'];
  await using archive = await openArchiveLog(directory);
  const answers = await answersOf(archive, names);
  expect(answers).toEqual(await answersOf(log, names));
  expect(answers.explanations.map(({ status }) => status)).toEqual([
    'explained',
    'explained',
    'explained',
    'not-found',
  ]);
  expect(answers.verified).toMatchObject({ deviations: { total: 0 }, unverified: { total: 0 } });
  expect(answers.verified.counts.removals).toBeGreaterThan(0);
  expect((await checked(directory)).deviations).toEqual([]);
});
