import { existsSync } from 'node:fs';
import { readdir, readlink, rm, symlink } from 'node:fs/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { SimulatedContainer } from '../../lab/sim/runtime/objects.ts';
import { MINUTE, SECOND } from '../fixtures/time.ts';
import { objectResults } from './support/events.ts';
import { type Pipeline, startPipeline, TEST_BOUND_MS } from './support/pipeline.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

const podSpec = (name: string) => ({ name, namespace: 'default', containers: { app: 'app:1' } });

async function pipelineWithNode(): Promise<Pipeline> {
  const pipeline = await startPipeline();
  onTestFinished(() => pipeline[Symbol.asyncDispose]());
  await pipeline.startNode();
  return pipeline;
}

const containersOf = ({ node }: Pipeline, uid: string): SimulatedContainer[] =>
  [...node.runtime.containers.values()].filter(({ labels }) => labels['io.kubernetes.pod.uid'] === uid);
const sandboxesOf = ({ node }: Pipeline, uid: string) =>
  [...node.runtime.sandboxes.values()].filter(({ metadata }) => metadata.uid === uid);

/** Where the flat symlinks of a node's container logs point. */
async function linked({ node }: Pipeline): Promise<string[]> {
  const names = await readdir(node.containerLogsDir);
  const targets = await Promise.all(names.map((name) => readlink(`${node.containerLogsDir}/${name}`)));
  return targets.toSorted();
}

test('[A8, G1, G6, G19, G22, H2, I3, K1] of a deleted pod all goes once it is gone for a minute, with logs and links; of a live pod nothing', async () => {
  const pipeline = await pipelineWithNode();
  const { node, time } = pipeline;
  const live = await node.kubelet.startPod(podSpec('live'));
  const dead = await node.kubelet.startPod(podSpec('dead'));
  await time.pass(10 * SECOND);
  const [removed] = containersOf(pipeline, dead);
  const [stays] = containersOf(pipeline, live);
  node.kubelet.deletePod(dead);

  await time.pass(55 * SECOND);
  expect([containersOf(pipeline, dead).length, sandboxesOf(pipeline, dead).length]).toEqual([1, 1]);

  await time.passUntil('the pod to go', 3 * MINUTE, () => sandboxesOf(pipeline, dead).length === 0);
  await time.pass(MINUTE);
  expect(containersOf(pipeline, dead)).toEqual([]);
  expect(existsSync(removed?.logFile ?? '')).toBe(false);
  expect(await readdir(node.podLogsDir)).toEqual([`default_live_${live}`]);
  expect(await linked(pipeline)).toEqual([stays?.logFile]);
  expect(existsSync(stays?.logFile ?? '')).toBe(true);
  expect(containersOf(pipeline, live)).toEqual([stays]);
  expect(sandboxesOf(pipeline, live).map(({ state }) => state)).toEqual(['ready']);
  const results = (await objectResults(pipeline)).map(({ object, rule, result }) => [
    object.kind,
    rule,
    result.outcome,
  ]);
  expect(results).toEqual([
    ['container', 'G6', 'removed'],
    ['sandbox', 'H2', 'removed'],
    ['pod-log-directory', 'I3', 'removed'],
  ]);
});

test('[G7, G23, G24] of a container that keeps crashing the newest dead one stays, with its log', async () => {
  const pipeline = await pipelineWithNode();
  const { node, time } = pipeline;
  const uid = await node.kubelet.startPod(podSpec('crashing'));
  await time.pass(10 * SECOND);
  for (let crash = 0; crash < 3; crash++) {
    node.kubelet.crashPod(uid);
    await node.kubelet.restartContainers(uid);
    await time.pass(SECOND);
  }
  const deadAttempts = () =>
    containersOf(pipeline, uid)
      .filter(({ state }) => state === 'exited')
      .map(({ attempt }) => attempt);
  expect(deadAttempts()).toEqual([0, 1, 2]);

  await time.passUntil('older attempts to go', 2 * MINUTE, () => deadAttempts().length === 1);
  await time.pass(2 * MINUTE);
  expect(deadAttempts()).toEqual([2]);
  const left = containersOf(pipeline, uid);
  expect(left.map(({ state }) => state)).toEqual(['exited', 'running']);
  expect(await linked(pipeline)).toEqual(left.map(({ logFile }) => logFile).toSorted());
});

test('[I4, I6, M35] a dangling symlink goes once its container is gone; those of containers that run stay', async () => {
  const pipeline = await pipelineWithNode();
  const { node, time } = pipeline;
  const uid = await node.kubelet.startPod(podSpec('live'));
  const [runs] = containersOf(pipeline, uid);
  await rm(runs?.logFile ?? '');
  await symlink(
    `${node.podLogsDir}/default_old_uid/app/0.log`,
    `${node.containerLogsDir}/old_default_app-0123456789.log`,
  );
  const names = () => readdir(node.containerLogsDir);
  const [stays] = (await names()).filter((name) => name.startsWith('live'));
  await time.pass(7 * MINUTE);
  expect(await names()).toEqual([stays]);
  const results = (await objectResults(pipeline)).map(({ object, rule, result }) => [
    object.kind,
    rule,
    result.outcome,
  ]);
  expect(results).toEqual([['log-symlink', 'M35', 'removed']]);
});

test('[H1, H2] a pod that got another sandbox loses the older one when nothing is in it, and keeps the newest', async () => {
  const pipeline = await pipelineWithNode();
  const { node, time } = pipeline;
  const uid = await node.kubelet.startPod(podSpec('moved'));
  const [first] = sandboxesOf(pipeline, uid);
  await time.pass(10 * SECOND);
  node.runtime.stopSandbox(first?.id ?? '');
  await node.kubelet.restartContainers(uid);
  await time.pass(2 * MINUTE);
  expect(sandboxesOf(pipeline, uid)).toHaveLength(2);

  node.kubelet.crashPod(uid);
  await node.kubelet.restartContainers(uid);
  await time.passUntil('the older sandbox to go', 8 * MINUTE, () => sandboxesOf(pipeline, uid).length === 1);
  await time.pass(2 * MINUTE);
  expect(sandboxesOf(pipeline, uid).map(({ state, metadata }) => [state, metadata.attempt])).toEqual([
    ['ready', 1],
  ]);
});

test('[M41, A12] what does not carry the labels of the kubelet stays, dead or not', async () => {
  const pipeline = await pipelineWithNode();
  const { node, time } = pipeline;
  await node.runtime.pullImage('foreign:1');
  const sandboxId = node.runtime.runSandbox({
    metadata: { name: 'foreign', uid: '', namespace: '', attempt: 0 },
    logDirectory: '',
    labels: {},
    annotations: {},
  });
  const id = node.runtime.createContainer({
    sandboxId,
    name: 'foreign',
    attempt: 0,
    image: 'foreign:1',
    userSpecifiedImage: 'foreign:1',
    mountedImages: [],
    labels: {},
    annotations: {},
    logPath: '',
  });
  await node.runtime.startContainer(id);
  node.runtime.stopSandbox(sandboxId);
  await node.kubelet.startPod(podSpec('live'));
  await time.pass(3 * MINUTE);
  expect([node.runtime.containers.has(id), node.runtime.sandboxes.has(sandboxId)]).toEqual([true, true]);
  expect(await objectResults(pipeline)).toEqual([]);
});
