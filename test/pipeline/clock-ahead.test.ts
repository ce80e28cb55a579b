import { expect, onTestFinished, test, vi } from 'vitest';
import { HOUR, MINUTE, SECOND } from '../fixtures/time.ts';
import { startPipeline, TEST_BOUND_MS } from './support/pipeline.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

test('[M27] a container that died just before the clock was set a day ahead goes when it is old, and not before', async () => {
  const pipeline = await startPipeline({ policy: { maximumDeadContainerAgeMs: 8 * MINUTE } });
  onTestFinished(() => pipeline[Symbol.asyncDispose]());
  const { node, time } = pipeline;
  await pipeline.startNode();
  const uid = await node.kubelet.startPod({ name: 'a', namespace: 'default', containers: { app: 'a:1' } });
  await time.pass(10 * SECOND);
  node.kubelet.crashPod(uid);
  await node.kubelet.restartContainers(uid);
  const dead = [...node.runtime.containers.values()].filter(({ state }) => state === 'exited');
  expect(dead).toHaveLength(1);
  const isThere = (): boolean => dead.every(({ id }) => node.runtime.containers.has(id));

  await time.pass(10 * SECOND);
  time.stepWall(24 * HOUR);
  await time.pass(6 * MINUTE);
  expect(isThere()).toBe(true);
  await time.passUntil('its maximum age', 10 * MINUTE, () => !isThere());
});
