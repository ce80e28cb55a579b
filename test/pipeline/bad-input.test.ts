import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { FleetGcError } from '../../packages/process/errors.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { appliedPolicy } from '../fixtures/applied-policy.ts';
import { deletionOutput } from '../fixtures/policy.ts';
import { HOUR, MINUTE, SECOND } from '../fixtures/time.ts';
import { outgoing } from '../support/logs/log-record.ts';
import { BOOT_B } from '../support/manual-clock.ts';
import { waitUntil } from '../support/wait-until.ts';
import { expectEveryCommandAccounted, removedOnce } from './support/accounts.ts';
import { commandResults, objectResults } from './support/events.ts';
import { oldImages, pressure, usedPercent } from './support/images.ts';
import type { NodeRun } from './support/node-run.ts';
import { type Pipeline, type PipelineOptions, startPipeline, TEST_BOUND_MS } from './support/pipeline.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

const YEAR = 365 * 24 * HOUR;
const BOUND_MS = 10_000;
const podManifest = (name: string) => ({ name, namespace: 'default', containers: { app: `${name}:1` } });

/** A node with four old images, of which some have to go when the disk fills up. */
async function nodeWithOldImages(
  options: PipelineOptions = {},
): Promise<{ readonly pipeline: Pipeline; readonly run: NodeRun }> {
  const pipeline = await startPipeline(options);
  onTestFinished(() => pipeline[Symbol.asyncDispose]());
  const run = await pipeline.startNode();
  await pipeline.node.kubelet.startPod(podManifest('live'));
  await oldImages(pipeline, ['old/a:1', 'old/b:1', 'old/c:1', 'old/d:1']);
  return { pipeline, run };
}

/** As much as the images that may go can free. */
const BARELY_FULL = 85n;
const isRelieved = (pipeline: Pipeline) => () => usedPercent(pipeline) <= 80;

describe('the clock of a node', () => {
  test.each<[string, 'known' | 'forgotten', number]>([
    ['an hour back', 'known', -HOUR],
    ['a day ahead', 'known', 24 * HOUR],
    ['25 hours back', 'forgotten', -25 * HOUR],
    ['25 hours ahead', 'forgotten', 25 * HOUR],
    ['25 years ahead', 'forgotten', 25 * YEAR],
  ])(
    '[D10, M2, A8] set %s, ages are %s: nothing young goes, nothing of a pod that is not gone, and the disk is relieved',
    async (_, age, stepMs) => {
      const { pipeline } = await nodeWithOldImages();
      const { node, time } = pipeline;
      const old = await node.runtime.pullImage('old/a:1');
      const young = await node.runtime.pullImage('young/image:1');
      const dead = await node.kubelet.startPod(podManifest('dead'));
      await time.pass(15 * SECOND);
      node.kubelet.deletePod(dead);
      await time.pass(15 * SECOND);
      const bornMs = time.now().sinceBootMs - 30 * SECOND;
      const containers = node.runtime.containers.size;
      const images = node.runtime.images.size;
      time.stepWall(stepMs);
      pressure(pipeline, BARELY_FULL);
      await time.pass(40 * SECOND);
      expect(node.runtime.images.has(young)).toBe(true);
      expect(node.runtime.containers.size).toBe(containers);
      // After more than a day nobody knows what happened meanwhile: what was old enough counts as just detected too.
      expect(node.runtime.images.has(old)).toBe(age === 'forgotten');
      if (age === 'forgotten') expect(node.runtime.images.size).toBe(images);

      await time.passUntil('the disk to be relieved', 10 * MINUTE, isRelieved(pipeline));
      if (!node.runtime.images.has(young))
        expect(time.now().sinceBootMs - bornMs).toBeGreaterThanOrEqual(2 * MINUTE);
      await time.pass(MINUTE);
      await expectEveryCommandAccounted(pipeline);
    },
  );

  test('[D10, M2] 25 years ahead at boot and then set right: nothing goes early, and the disk is relieved', async () => {
    const { pipeline, run } = await nodeWithOldImages();
    const { node, time } = pipeline;
    const young = await node.runtime.pullImage('young/image:1');
    await time.pass(15 * SECOND);
    await run.stop();
    for (const id of node.runtime.sandboxes.keys()) node.runtime.stopSandbox(id);
    time.reboot(BOOT_B, 25 * YEAR);
    node.kubelet.restart();
    await pipeline.startNode();
    await node.kubelet.restartContainers([...node.kubelet.pods.keys()][0] ?? '');
    await time.pass(20 * SECOND);
    time.stepWall(-25 * YEAR);
    pressure(pipeline, BARELY_FULL);
    await time.pass(40 * SECOND);
    expect(node.runtime.images.has(young)).toBe(true);
    await time.passUntil('the disk to be relieved', 10 * MINUTE, isRelieved(pipeline));
    await time.pass(MINUTE);
    await expectEveryCommandAccounted(pipeline);
  });
});

describe('a container without any image reference', () => {
  test('[M9, C8] no image goes while it is there, the record says so, and then they go', async () => {
    const { pipeline } = await nodeWithOldImages();
    const { node, time } = pipeline;
    const [container] = [...node.runtime.containers.values()];
    if (!container) throw new Error('the pod has a container');
    const { imageId, image, userSpecifiedImage } = container;
    Object.assign(container, { imageId: '', image: '', userSpecifiedImage: '' });
    await time.pass(11 * SECOND);
    pressure(pipeline, BARELY_FULL);
    await time.pass(MINUTE);
    expect(await objectResults(pipeline)).toEqual([]);
    const decisions = await pipeline.events('decisions');
    const doubtful = decisions.filter(
      (event) => event.type === 'fleetgc.node.decision' && event.outcome === 'not-believed',
    );
    expect(JSON.stringify(doubtful)).toContain(container.id);

    Object.assign(container, { imageId, image, userSpecifiedImage });
    await time.passUntil('the disk to be relieved', 10 * MINUTE, isRelieved(pipeline));
  });
});

describe('policies', () => {
  test('none: every record says so, and nothing goes', async () => {
    const { pipeline } = await nodeWithOldImages();
    await pipeline.deletePolicy();
    pressure(pipeline);
    await pipeline.time.pass(2 * MINUTE);
    expect(await pipeline.records('commands')).toEqual([]);
    expect(await pipeline.events('decisions')).toContainEqual(
      expect.objectContaining({ outcome: 'no-policy' }),
    );
  });

  test('a record that nobody can read: no command while it lies there, and no message lost when it is mended', async () => {
    const { pipeline, run } = await nodeWithOldImages();
    const { time, log } = pipeline;
    log.awaitsConsumers = false;
    await log.publish([{ topic: TOPICS.policies.name, key: 'bad', value: Buffer.from('{'), headers: {} }]);
    await waitUntil('the executor to know', BOUND_MS, () => run.policies.problem() !== null);
    pressure(pipeline);
    await time.pass(20 * SECOND);
    expect(await pipeline.records('commands')).toEqual([]);

    await log.publish([outgoing(deletionOutput('bad'))]);
    log.awaitsConsumers = true;
    await time.settled();
    await time.passUntil('a removal', 3 * MINUTE, async () => (await removedOnce(pipeline)).length > 0);
    expect(await pipeline.records('deadLetters')).toEqual([]);
  });

  test('a topic that was recreated behind our back: no command until the policies are applied again', async () => {
    const { pipeline } = await nodeWithOldImages({ recheckMs: 100 });
    const { time, log, directory } = pipeline;
    log.awaitsConsumers = false;
    recreatePolicies(join(directory, 'log.db'));
    await log.publish([
      outgoing({ topic: 'policies', key: 'other', event: appliedPolicy({ name: 'other' }) }),
    ]);
    const problem = await waitUntil('the deciders to notice', BOUND_MS, () => pipeline.policyProblem());
    expect(problem).toMatch(/no longer holds "default"/);
    pressure(pipeline);
    await time.pass(20 * SECOND);
    expect(await pipeline.records('commands')).toEqual([]);

    await log.publish([outgoing({ topic: 'policies', key: 'default', event: appliedPolicy({}) })]);
    await waitUntil('the deciders to know again', BOUND_MS, () => pipeline.policyProblem() === null);
    log.awaitsConsumers = true;
    await time.passUntil('a removal', 3 * MINUTE, async () => (await removedOnce(pipeline)).length > 0);
  });
});

/** As if somebody deleted the topic and created it again. */
function recreatePolicies(path: string): void {
  const db = new DatabaseSync(path, { timeout: 5_000 });
  db.exec(`BEGIN IMMEDIATE;
    DELETE FROM records WHERE partition_id IN (SELECT id FROM partitions WHERE topic = '${TOPICS.policies.name}');
    UPDATE partitions SET next_offset = 0, last_timestamp_ms = 0, kept_bytes = 0 WHERE topic = '${TOPICS.policies.name}';
    COMMIT`);
  db.close();
}

describe('a log', () => {
  test('that goes away in the middle of a command and returns: no result is lost, and nothing goes twice', async () => {
    const { pipeline } = await nodeWithOldImages();
    const { node, time, log } = pipeline;
    const images = node.runtime.images.size;
    node.faults.afterCall('removeImage', () => {
      log.beforePublish = () => {
        throw new FleetGcError('LOG_UNREACHABLE', 'no broker answers');
      };
    });
    pressure(pipeline);
    await time.passUntil('a removal', MINUTE, () => node.runtime.images.size < images);
    log.awaitsConsumers = false;
    await time.pass(10 * SECOND);
    expect(await commandResults(pipeline)).toEqual([]);

    log.beforePublish = () => undefined;
    log.awaitsConsumers = true;
    await time.pass(2 * MINUTE);
    await expectEveryCommandAccounted(pipeline);
    const removed = await removedOnce(pipeline);
    expect(new Set(removed).size).toBe(removed.length);
    expect(removed.length).toBe(images - node.runtime.images.size);
  });
});
