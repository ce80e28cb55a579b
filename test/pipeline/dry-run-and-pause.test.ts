import { expect, onTestFinished, test, vi } from 'vitest';
import type { Decision } from '../../schemas/events/decision.ts';
import type { EventOf } from '../../schemas/events/topics.ts';
import type { Policy } from '../../schemas/policy/policy.ts';
import { MINUTE } from '../fixtures/time.ts';
import { removedOnce } from './support/accounts.ts';
import { commandResults, objectResults } from './support/events.ts';
import { oldImages, pressure, usedPercent } from './support/images.ts';
import { type Pipeline, type PipelineOptions, startPipeline, TEST_BOUND_MS } from './support/pipeline.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

const IMAGES = ['old/a:1', 'old/b:1', 'old/c:1', 'old/d:1', 'old/e:1', 'old/f:1', 'old/g:1', 'old/h:1'];
const podManifest = (name: string) => ({ name, namespace: 'default', containers: { app: 'app:1' } });

/** A node with a deleted pod and old images, whose disk then fills up. */
async function nodeUnderPressure(options: PipelineOptions): Promise<Pipeline> {
  const pipeline = await startPipeline(options);
  onTestFinished(() => pipeline[Symbol.asyncDispose]());
  const { node } = pipeline;
  await pipeline.startNode();
  await node.kubelet.startPod(podManifest('live'));
  node.kubelet.deletePod(await node.kubelet.startPod(podManifest('dead')));
  await oldImages(pipeline, IMAGES);
  pressure(pipeline);
  return pipeline;
}

const isDecision = (event: EventOf<'decisions'>): event is Decision => event.type === 'fleetgc.node.decision';
const decisionsOf = async (pipeline: Pipeline): Promise<Decision[]> =>
  (await pipeline.events('decisions')).filter(isDecision);

/** What the mode of a policy may not change: all but what becomes of the plan, and ids and hashes that follow from it. */
const comparable = ({ outcome, reason, reclaim, ...decision }: Decision) => ({
  decider: decision.decider.name,
  input: decision.input,
  takenAt: decision.takenAt,
  outcome: outcome === 'dry-run' ? 'commanded' : outcome,
  reason: reason.replace('; dry-run: no command is sent', ''),
  target: reclaim?.target,
  step: reclaim?.step,
  round: reclaim?.round,
  estimatedBytes: decision.estimatedBytes,
  notBelieved: decision.notBelieved,
  verdicts: decision.verdicts,
});
const inOrder = (decisions: readonly Decision[]) =>
  decisions.map(comparable).toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
const keyOf = ({ decider, input }: ReturnType<typeof comparable>): string => `${decider} ${input.id}`;

/** Decides on the facts of another log, byte for byte, and on each before the next one is there to overtake it. */
async function decidedAgain(pipeline: Pipeline, policy: Partial<Policy>): Promise<Decision[]> {
  const again = await startPipeline({ policy });
  onTestFinished(() => again[Symbol.asyncDispose]());
  for (const topic of ['diskStats', 'inventory'] as const) {
    for (const { key, ...rest } of await pipeline.records(topic)) {
      await again.log.publish([{ ...rest, key: key ?? '' }]);
      await again.time.settled();
    }
  }
  return decisionsOf(again);
}

test('dry-run decides the same as enforce on the same facts, and removes nothing', async () => {
  const pipeline = await nodeUnderPressure({ policy: { mode: 'dry-run' } });
  const { node, time } = pipeline;
  const before = [node.runtime.images.size, node.runtime.containers.size, node.runtime.sandboxes.size];
  await time.pass(3 * MINUTE);

  expect(await pipeline.records('commands')).toEqual([]);
  expect(await pipeline.records('results')).toEqual([]);
  expect([node.runtime.images.size, node.runtime.containers.size, node.runtime.sandboxes.size]).toEqual(
    before,
  );

  const dry = await decisionsOf(pipeline);
  expect(dry.filter(({ outcome }) => outcome === 'dry-run').map(({ decider }) => decider.name)).toEqual(
    expect.arrayContaining(['container-gc', 'image-gc']),
  );
  const enforced = await decidedAgain(pipeline, { mode: 'enforce' });
  expect(enforced.some(({ outcome }) => outcome === 'commanded')).toBe(true);
  expect(inOrder(enforced)).toEqual(inOrder(dry));
});

test('a pause in the middle of a command: nothing more is removed, and the results say why', async () => {
  const pipeline = await nodeUnderPressure({});
  const { node, time } = pipeline;
  node.faults.afterCall('removeImage', () => pipeline.pause());
  await time.passUntil('the command to end', 5 * MINUTE, async () =>
    (await commandResults(pipeline)).some(({ kind }) => kind === 'image-removal'),
  );
  const left = node.runtime.images.size;
  const images = (await objectResults(pipeline)).filter(({ object }) => object.kind === 'image');
  expect(images.map(({ result }) => result)).toMatchObject([
    { outcome: 'removed' },
    ...images.slice(1).map(() => ({ outcome: 'refused', reason: 'paused' })),
  ]);
  expect(images.length).toBeGreaterThan(1);

  const removed = (await removedOnce(pipeline)).length;
  node.kubelet.deletePod(await node.kubelet.startPod(podManifest('another')));
  await time.pass(3 * MINUTE);
  expect([node.runtime.images.size, (await removedOnce(pipeline)).length]).toEqual([left, removed]);

  await pipeline.resume();
  await time.passUntil('the disk to be relieved', 10 * MINUTE, () => usedPercent(pipeline) <= 80);
});
