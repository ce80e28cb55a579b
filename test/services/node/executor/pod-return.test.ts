import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { MAX_PODS_AGE_MS } from '../../../../services/node/executor/checks.ts';
import { containerRemoval } from '../../../fixtures/command.ts';
import { AGREEING_KUBELET_POLICY, ofEndedPods } from './support/agreeing-inventory.ts';
import { addContainer, addSandbox, type ExecutorNode, executorNode } from './support/executor-node.ts';

/** Names what goes only because the pod `pod-1` was gone; the command says so, or somebody forged it. */
const naming = (podGone: boolean, ids: readonly string[]) => {
  const command = containerRemoval(ids);
  return { ...command, items: command.items.map((item) => ({ ...item, rule: 'G6', podGone })) };
};
const ofGonePod = (...ids: readonly string[]) => naming(true, ids);
const isBack = async () => [{ uid: 'pod-0' }, { uid: 'pod-1' }];
const isSilent = async () => {
  throw new FleetGcError('PODS_UNREADABLE', 'connection refused');
};

function setUp(podsNow: ExecutorNode['podsNow']) {
  const node = executorNode();
  node.podsNow = podsNow;
  const logPath = addContainer(node, 'dead');
  addSandbox(node, 'sandbox-1');
  return { node, logPath };
}

const addReady = (node: ExecutorNode): void => addSandbox(node, 'sandbox-new', { state: 'ready' });
const addRunning = (node: ExecutorNode): void => {
  addContainer(node, 'new', { state: 'running' });
  addSandbox(node, 'elsewhere', { podUid: 'pod-9', labels: {} });
};

describe('what goes because its pod was gone', () => {
  test('[G6, H2, K3] goes while the kubelet does not know the pod', async () => {
    const { node, logPath } = setUp(async () => [{ uid: 'pod-0' }]);
    await node.start().carryOut(ofGonePod('dead', 'sandbox-1'));
    expect(node.runtime.gone).toEqual(['dead', 'sandbox-1']);
    expect(existsSync(logPath)).toBe(false);
  });

  test.each([
    { name: 'its pod is back', podsNow: isBack, reason: 'pod-is-back' },
    { name: 'the kubelet is silent', podsNow: isSilent, reason: 'pods-unknown' },
    { name: 'there is nobody to ask', podsNow: null, reason: 'pods-unknown' },
  ])('[G6, H2, K3, A8] stays, logs and all, when $name', async ({ podsNow, reason }) => {
    const { node, logPath } = setUp(podsNow);
    await node.start().carryOut(ofGonePod('dead', 'sandbox-1'));
    expect(node.runtime.calls).toEqual([]);
    expect(existsSync(logPath)).toBe(true);
    const refusal = { outcome: 'refused', reason, message: expect.any(String) };
    expect(node.outcomes()).toEqual({ dead: refusal, 'sandbox-1': refusal });
  });

  test('[G6, H2, K3, M5] stays when its pod is back, though the command says that the pod was never gone', async () => {
    const { node, logPath } = setUp(isBack);
    await node.start().carryOut(naming(false, ['dead', 'sandbox-1']));
    expect(node.runtime.calls).toEqual([]);
    expect(existsSync(logPath)).toBe(true);
    const refusal = { outcome: 'refused', reason: 'pod-is-back', message: expect.any(String) };
    expect(node.outcomes()).toEqual({ dead: refusal, 'sandbox-1': refusal });
  });

  test('[H2] a sandbox whose metadata and label name two pods stays when either is back', async () => {
    const { node } = setUp(isBack);
    addSandbox(node, 'sandbox-2', {
      podUid: 'pod-1',
      labels: {
        'io.kubernetes.pod.uid': 'pod-2',
        'io.kubernetes.pod.name': 'web',
        'io.kubernetes.pod.namespace': 'default',
      },
    });
    await node.start().carryOut(ofGonePod('sandbox-2'));
    expect(node.outcomes()).toMatchObject({ 'sandbox-2': { reason: 'pod-is-back' } });
  });

  test('[K3] the kubelet is asked for each object, before the runtime', async () => {
    const asked: number[] = [];
    let lists = 0;
    const { node } = setUp(async () => {
      asked.push(lists);
      return asked.length > 1 ? isBack() : [];
    });
    node.runtime.before = (call) => {
      if (call === 'listContainers') lists += 1;
    };
    await node.start().carryOut(ofGonePod('dead', 'sandbox-1'));
    expect(node.runtime.gone).toEqual(['dead']);
    expect(node.outcomes()).toMatchObject({ 'sandbox-1': { reason: 'pod-is-back' } });
    expect(asked).toEqual([0, 2]);
  });

  test.each([1_100, MAX_PODS_AGE_MS])(
    '[K3, A8] goes also where the kubelet takes %i ms to answer: that makes no fact about the runtime old',
    async (answersAfterMs) => {
      const { node } = setUp(async () => {
        node.clock.advance(answersAfterMs);
        return [{ uid: 'pod-0' }];
      });
      await node.start().carryOut(ofGonePod('dead', 'sandbox-1'));
      expect(node.runtime.gone).toEqual(['dead', 'sandbox-1']);
    },
  );

  test.each([
    { name: 'a sandbox of it is ready', reason: 'ready', add: addReady },
    { name: 'a container of it runs', reason: 'running', add: addRunning },
  ])('[K3] stays when its pod returned after the kubelet was asked: $name', async ({ reason, add }) => {
    const { node, logPath } = setUp(async () => {
      add(node);
      return [{ uid: 'pod-0' }];
    });
    await node.start().carryOut(ofGonePod('dead', 'sandbox-1'));
    expect(node.runtime.calls).toEqual([]);
    expect(existsSync(logPath)).toBe(true);
    expect(node.outcomes()).toMatchObject({ dead: { reason }, 'sandbox-1': { reason } });
  });

  test.each([
    { readMs: MAX_PODS_AGE_MS, gone: ['dead'] },
    { readMs: MAX_PODS_AGE_MS + 1, gone: [] },
  ])('[K3] of an answer $readMs ms old $gone goes: the runtime took that long to read', async (given) => {
    const { node } = setUp(async () => [{ uid: 'pod-0' }]);
    let isFirst = true;
    node.runtime.before = (call) => {
      if (call !== 'status' || !isFirst) return;
      isFirst = false;
      node.clock.advance(given.readMs);
    };
    await node.start().carryOut(ofGonePod('dead'));
    expect(node.runtime.gone).toEqual(given.gone);
    const message = expect.stringContaining(`the kubelet said so ${given.readMs} ms ago`);
    const refusal = { reason: 'pods-unknown', message };
    expect(node.outcomes()).toMatchObject({ dead: given.gone.length > 0 ? { outcome: 'removed' } : refusal });
  });

  test('[K3] stays when the node was paused while the kubelet was asked', async () => {
    const { node } = setUp(async () => {
      node.policy = () => ({ kind: 'paused', pause: { reason: '' } });
      return [{ uid: 'pod-0' }];
    });
    await node.start().carryOut(ofGonePod('dead'));
    expect(node.outcomes()).toMatchObject({ dead: { reason: 'paused' } });
  });

  test('[G15] stays when its pod came back while it was stopped, and the result says that it was', async () => {
    let stopped = false;
    const { node, logPath } = setUp(async () => (stopped ? isBack() : []));
    addContainer(node, 'dead', { state: 'unknown' });
    node.runtime.after = (call) => {
      if (call.startsWith('stopContainer')) stopped = true;
    };
    await node.start().carryOut(ofGonePod('dead'));
    expect(existsSync(logPath)).toBe(true);
    expect(node.outcomes()).toMatchObject({ dead: { reason: 'pod-is-back', alreadyDone: ['stopped'] } });
  });
});

test.each([
  { name: 'its pod is known', podsNow: isBack },
  { name: 'the kubelet is silent', podsNow: isSilent },
  { name: 'there is nobody to ask', podsNow: null },
])('[G7, H2] what goes whatever its pod does goes all the same when $name', async ({ podsNow }) => {
  const { node } = setUp(podsNow);
  node.policy = () => ({ kind: 'enforced', record: AGREEING_KUBELET_POLICY });
  node.takeInventory = ofEndedPods(node.takeInventory);
  await node.start().carryOut(containerRemoval(['dead', 'sandbox-1']));
  expect(node.runtime.gone).toEqual(['dead', 'sandbox-1']);
});
