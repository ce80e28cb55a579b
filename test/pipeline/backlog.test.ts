import { expect, onTestFinished, test, vi } from 'vitest';
import type { Decision } from '../../schemas/events/decision.ts';
import type { EventOf } from '../../schemas/events/topics.ts';
import { MINUTE } from '../fixtures/time.ts';
import { verify } from '../packages/audit/support/verify-recording.ts';
import { outgoing } from '../support/logs/log-record.ts';
import { allEnded, expectEveryCommandAccounted } from './support/accounts.ts';
import { oldImages } from './support/images.ts';
import { type Pipeline, startPipeline, TEST_BOUND_MS } from './support/pipeline.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

const isDecision = (event: EventOf<'decisions'>): event is Decision => event.type === 'fleetgc.node.decision';

/** Outcomes of one decider, in the order of the inventories. */
const outcomesOf = async (pipeline: Pipeline, decider: string): Promise<string[]> =>
  (await pipeline.events('decisions'))
    .filter(isDecision)
    .filter((decision) => decision.decider.name === decider)
    .map(({ outcome }) => outcome);

test('after half an hour without deciders one decision is made of what piled up, on what is there now', async () => {
  const pipeline = await startPipeline({ policy: { imageMaximumGCAgeMs: 10 * MINUTE } });
  onTestFinished(() => pipeline[Symbol.asyncDispose]());
  const { node, time, log } = pipeline;
  const policies = pipeline.policies().policies;
  await log.publish(policies.map((event) => outgoing({ topic: 'policyVersions', key: event.hash, event })));
  await pipeline.startNode();
  await oldImages(pipeline, ['app/unused:1', 'app/wanted-late:1']);
  const before = (await outcomesOf(pipeline, 'image-gc')).length;

  await pipeline.deciders.stop();
  await time.pass(26 * MINUTE);
  await node.kubelet.startPod({
    name: 'late',
    namespace: 'default',
    containers: { app: 'app/wanted-late:1' },
  });
  await time.pass(5 * MINUTE);
  await pipeline.deciders.start();
  await time.settled();

  const pileOfImages = (await outcomesOf(pipeline, 'image-gc')).slice(before);
  const pileOfContainers = (await outcomesOf(pipeline, 'container-gc')).slice(before);
  expect(pileOfImages.length).toBeGreaterThan(5);
  expect(pileOfImages.slice(0, -1).every((outcome) => outcome === 'overtaken')).toBe(true);
  expect(pileOfImages.at(-1)).toBe('commanded');
  expect(pileOfContainers.slice(0, -1).every((outcome) => outcome === 'overtaken')).toBe(true);
  expect(pileOfContainers.at(-1)).toBe('nothing-to-do');
  expect(await pipeline.records('commands')).toHaveLength(1);

  await time.passUntil(
    'the unused image to go',
    10 * MINUTE,
    () => node.runtime.findImage('app/unused:1') === undefined,
  );
  expect(node.runtime.findImage('app/wanted-late:1')).toBeDefined();
  await time.passUntil('every command to end', MINUTE, () => allEnded(pipeline));
  await expectEveryCommandAccounted(pipeline);
  const found = await verify(log);
  expect(found.deviations.first).toEqual([]);
  expect(found.unverified.first).toEqual([]);
  expect(found.counts.verified).toBe(found.counts.decisions);
});
