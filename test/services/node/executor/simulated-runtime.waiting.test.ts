import { existsSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { SimulatedNode } from '../../../../lab/sim/node.ts';
import { connectRemover } from '../../../../packages/cri/client.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import { createMetrics } from '../../../../packages/process/metrics.ts';
import { TRUST_OFF } from '../../../../packages/records/trust/trust.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import type { ObjectOutcome } from '../../../../schemas/events/result.ts';
import type { FleetEvent } from '../../../../schemas/events/topics.ts';
import { NO_DISK_HISTORY } from '../../../../services/node/agent/disks.ts';
import { createNodeExecutor, filesOnDisk } from '../../../../services/node/executor/run.ts';
import { containerRemoval, imageRemoval } from '../../../fixtures/command.ts';
import { input } from '../../../fixtures/input.ts';
import { NODE } from '../../../fixtures/inventory.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { logLines } from '../../../support/log-lines.ts';
import { countedIds } from '../../../support/logs/log-record.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { simulatedNode } from '../../../support/simulated-node.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { AGREEING_POLICY, agreeingInventory } from './support/agreeing-inventory.ts';
import { knowImage } from './support/executor-node.ts';
import { memoryState } from './support/memory-state.ts';

const GB = 1_000_000_000n;
const POD = { name: 'web', namespace: 'default', containers: { app: 'nginx:1' } };

/** A simulated node of 10 GB, and an executor that works on it over its socket. */
async function managedNode() {
  const clock = manualClock();
  const node = await simulatedNode({
    clock,
    registry: (reference) => ({
      id: `sha256:${Buffer.from(reference).toString('hex').padEnd(64, '0')}`,
      digest: `sha256:${'d'.repeat(64)}`,
      sizeBytes: GB,
      labels: {},
    }),
  });
  const runtime = connectRemover(node.endpoint, { readMs: 500, removeImageMs: 500, removeMs: 500 });
  onTestFinished(() => runtime[Symbol.dispose]());
  const state = memoryState();
  const published: FleetEvent[] = [];
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const logger = createLogger({ service: 'test', level: 'silent' }, logLines());
  const executor = createNodeExecutor({
    node: {
      trust: TRUST_OFF,
      identity: NODE,
      runtime,
      filesystems: node.filesystems,
      clock,
      state,
      policy: () => ({ kind: 'enforced', record: AGREEING_POLICY }),
      diskHistory: () => NO_DISK_HISTORY,
      takeInventory: async (reclaim) =>
        agreeingInventory(
          {
            ...node,
            capacityBytes: String(10n ** 15n),
            images: [...node.runtime.images.values()],
            containers: [...node.runtime.containers.values()],
            sandboxes: [...node.runtime.sandboxes.values()],
          },
          clock.now(),
          reclaim,
        ),
      wantedByPods: () => [...node.kubelet.pods.values()],
      podsNow: async () => [...node.kubelet.pods.values()],
    },
    files: filesOnDisk(
      { ...node, localFile: { path: `${node.podLogsDir}/no-local-file`, isNamed: false } },
      { clock, state, logger },
    ),
    publisher: {
      ids: countedIds(),
      tracer: null,
      records: (outputs) => {
        published.push(...outputs.map(({ event }) => event));
        return [];
      },
      send: async () => undefined,
      publish: async () => undefined,
    },
    sleep: async (ms) => {
      clock.advance(ms);
      await setImmediate();
    },
    random: () => 0,
    logger,
    metrics: createMetrics(),
  });
  void executor.run(stopping.signal);
  const resultOf = (id: string) =>
    published.find((event) => event.type === 'fleetgc.node.command-result' && event.commandId === id);
  const carryOut = async (command: Command): Promise<Readonly<Record<string, ObjectOutcome>>> => {
    for (const { kind, id } of command.items) if (kind === 'image') knowImage(state, id);
    await executor.commands(input('commands', { ...command, takenAt: clock.now() }));
    await waitUntil(`the end of ${command.id}`, 10_000, () => resultOf(command.id) ?? null);
    return outcomesOf(published, command.id);
  };
  return { node, runtime, carryOut };
}

const outcomesOf = (events: readonly FleetEvent[], commandId: string): Record<string, ObjectOutcome> =>
  Object.fromEntries(
    events.flatMap((event) =>
      event.type === 'fleetgc.node.object-result' && event.commandId === commandId
        ? [[event.object.id, event.result] as const]
        : [],
    ),
  );

const pull = (node: SimulatedNode, ...references: string[]): Promise<string[]> =>
  Promise.all(references.map((reference) => node.runtime.pullImage(reference)));

const TO_8_GB = reclaim({
  target: { filesystem: 'imagefs', resource: 'availableBytes', atLeast: String(8n * GB) },
});

test('[D11, M7] images go until the disk has what the reclaim wants', async () => {
  const { node, carryOut } = await managedNode();
  const [a = '', b = '', c = ''] = await pull(node, 'a:1', 'b:1', 'c:1');
  const outcomes = await carryOut(imageRemoval([a, b, c], { reclaim: TO_8_GB }));
  expect(Object.values(outcomes).map(({ outcome }) => outcome)).toEqual(['removed', 'removed', 'not-needed']);
  expect([...node.runtime.images.keys()]).toContain(c);
});

test('[M7] a disk that frees late costs no image more', async () => {
  const { node, carryOut } = await managedNode();
  const [a = '', b = '', c = ''] = await pull(node, 'a:1', 'b:1', 'c:1');
  node.faults.freeLateMs = 1_500;
  const outcomes = await carryOut(imageRemoval([a, b, c], { reclaim: TO_8_GB }));
  expect(outcomes[c]).toMatchObject({ outcome: 'not-needed' });
});

test('[M7] an image that is reported as removed and kept counts as failed', async () => {
  const { node, carryOut } = await managedNode();
  const [a = '', b = ''] = await pull(node, 'a:1', 'b:1');
  node.faults.keptImages.add(a);
  expect(await carryOut(imageRemoval([a, b]))).toMatchObject({
    [a]: { outcome: 'failed', reason: 'still-listed' },
    [b]: { outcome: 'removed' },
  });
});

test('[M17] a removal that the runtime refuses leaves the others their turn', async () => {
  const { node, carryOut } = await managedNode();
  const [a = '', b = ''] = await pull(node, 'a:1', 'b:1');
  node.faults.refusedRemovals.set(a, 'device or resource busy');
  expect(await carryOut(imageRemoval([a, b]))).toMatchObject({
    [a]: { outcome: 'failed', reason: 'runtime-error', message: expect.stringContaining('busy') },
    [b]: { outcome: 'removed' },
  });
});

test('a removal that hangs ends at its deadline, and the others have their turn', async () => {
  const { node, carryOut } = await managedNode();
  const [a = '', b = ''] = await pull(node, 'a:1', 'b:1');
  node.faults.onCall('removeImage', { kind: 'hang' }, 1);
  expect(await carryOut(imageRemoval([a, b]))).toMatchObject({
    [a]: { outcome: 'failed', reason: 'deadline-exceeded' },
    [b]: { outcome: 'removed' },
  });
});

test('[K5, M5] an image that a pod just started on stays', async () => {
  const { node, carryOut } = await managedNode();
  const [a = ''] = await pull(node, 'nginx:1');
  await node.kubelet.startPod(POD);
  expect(await carryOut(imageRemoval([a]))).toMatchObject({ [a]: { outcome: 'refused', reason: 'in-use' } });
});

test('[C10, M5] an image that an admitted pod wants stays', async () => {
  const { node, carryOut } = await managedNode();
  const [a = ''] = await pull(node, 'nginx:1');
  node.kubelet.admitPod(POD);
  expect(await carryOut(imageRemoval([a]))).toMatchObject({ [a]: { outcome: 'refused', reason: 'in-use' } });
});

test.each(['listImages', 'listContainers', 'listPodSandbox'] as const)(
  'half an answer to %s leads to another look, not to a removal on half knowledge',
  async (method) => {
    const { node, carryOut } = await managedNode();
    await node.kubelet.startPod(POD);
    const inUse = node.runtime.findImage('nginx:1')?.id ?? '';
    const [a = ''] = await pull(node, 'a:1');
    node.faults.onCall(method, { kind: 'half' }, 1);
    expect(await carryOut(imageRemoval([inUse, a]))).toMatchObject({
      [inUse]: { outcome: 'refused', reason: 'in-use' },
      [a]: { outcome: 'removed' },
    });
  },
);

test.each(['status', 'listImages', 'containerStatus'] as const)(
  'a runtime that hangs in %s leads to no removal',
  async (method) => {
    const { node, carryOut } = await managedNode();
    await node.kubelet.startPod(POD);
    const [a = ''] = await pull(node, 'a:1');
    node.faults.onCall(method, { kind: 'hang' });
    expect(await carryOut(imageRemoval([a]))).toMatchObject({
      [a]: { outcome: 'refused', reason: 'runtime-unavailable' },
    });
    node.faults.clear();
    expect(node.runtime.images.has(a)).toBe(true);
  },
);

test('a runtime that dies in the middle leads to no further removal, and its return to the next', async () => {
  const { node, runtime, carryOut } = await managedNode();
  const [a = '', b = ''] = await pull(node, 'a:1', 'b:1');
  node.faults.afterCall('removeImage', () => node.die());
  const died = await carryOut(imageRemoval([a, b]));
  expect(died[b]).toMatchObject({ outcome: 'refused', reason: 'runtime-unavailable' });
  await node.revive();
  await waitUntil('the runtime to answer again', 10_000, () => runtime.version());
  expect(await carryOut(imageRemoval([b], { id: 'command-2' }))).toMatchObject({
    [b]: { outcome: 'removed' },
  });
});

test('[G19, G20, G22, H6] dead containers go with their logs and symlinks, and then the sandbox', async () => {
  const { node, carryOut } = await managedNode();
  const uid = await node.kubelet.startPod(POD);
  node.kubelet.deletePod(uid);
  const [container] = [...node.runtime.containers.values()];
  const [sandboxId = ''] = [...node.runtime.sandboxes.keys()];
  if (!container) throw new Error('the pod has a container');
  expect(existsSync(container.logFile)).toBe(true);
  const items = [
    { kind: 'container' as const, id: container.id, rule: 'G6', podGone: true },
    { kind: 'sandbox' as const, id: sandboxId, rule: 'H2', podGone: true },
  ];
  const outcomes = await carryOut(containerRemoval([], { items }));
  expect(outcomes).toMatchObject({
    [container.id]: { outcome: 'removed' },
    [sandboxId]: { outcome: 'removed' },
  });
  expect([node.runtime.containers.size, node.runtime.sandboxes.size]).toEqual([0, 0]);
  expect(existsSync(container.logFile)).toBe(false);
});
