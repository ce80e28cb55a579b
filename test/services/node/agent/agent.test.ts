import { describe, expect, onTestFinished, test } from 'vitest';
import type { SimulatedNode, SimulatedNodeOptions } from '../../../../lab/sim/node.ts';
import packageJson from '../../../../package.json' with { type: 'json' };
import { connectContainerd } from '../../../../packages/cri/containerd/reader.ts';
import type { RuntimeReader } from '../../../../packages/cri/port.ts';
import type { Output } from '../../../../packages/decision/handler.ts';
import { openStateDirectory } from '../../../../packages/machine/state-directory.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import { createMetrics } from '../../../../packages/process/metrics.ts';
import type { DiskStats } from '../../../../schemas/events/disk-stats.ts';
import type { CompleteInventory, Inventory } from '../../../../schemas/events/inventory.ts';
import { IMAGE_HISTORY_FILE, ImageHistoryFile } from '../../../../schemas/state/image-history.ts';
import { byTheClock, NodeAgent, type NodeAgentDeps } from '../../../../services/node/agent/agent.ts';
import { loggedContentReading, NO_CONTENTS } from '../../../../services/node/agent/contents.ts';
import { podLogReader } from '../../../../services/node/agent/pod-logs.ts';
import { input } from '../../../fixtures/input.ts';
import { NODE } from '../../../fixtures/inventory.ts';
import { observe } from '../../../fixtures/observe.ts';
import { policySet } from '../../../fixtures/policy.ts';
import { reclaim, WHOLE_DISK } from '../../../fixtures/reclaim.ts';
import { HOUR, MINUTE, SECOND } from '../../../fixtures/time.ts';
import { logLines } from '../../../support/log-lines.ts';
import { BOOT_B } from '../../../support/manual-clock.ts';
import { type ManualTime, manualTime } from '../../../support/manual-time.ts';
import { directRuntime } from '../../../support/runtime/direct-connection.ts';
import { simulatedNode } from '../../../support/simulated-node.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { waitUntil } from '../../../support/wait-until.ts';

const MACHINE = '3d1219c7c4c5404aaa1f6d2a48adfda4';
const YEAR = 365 * 24 * HOUR;
const POD = { name: 'web', namespace: 'default', containers: { app: 'nginx:1' } };
const OTHER = { name: 'stays', namespace: 'default', containers: { app: 'redis:1' } };

/** Sampling, detecting, saving, taking inventories, and two queues: all but listening to the runtime's events. */
const SLEEPING_LOOPS = 6;

interface Running {
  readonly agent: NodeAgent;
  readonly runtime: RuntimeReader;
  readonly inventories: Inventory[];
  readonly diskStats: DiskStats[];
  readonly log: readonly string[];
  readonly metrics: () => Promise<string>;
  stop(): Promise<void>;
}

/** A node with its time and its state directory, on which agents come and go. */
async function setUp(over: Partial<SimulatedNodeOptions> = {}) {
  let agents = 0;
  const time = manualTime(() => agents * SLEEPING_LOOPS);
  const node = await simulatedNode({ clock: time, ...over });
  const state = openStateDirectory(temporaryDirectory(), MACHINE);
  let away = false;
  const start = (deps: Partial<NodeAgentDeps> = {}): Running => {
    const inventories: Inventory[] = [];
    const diskStats: DiskStats[] = [];
    const log = logLines();
    const metrics = createMetrics();
    const runtime = directRuntime(node);
    const take = ({ event }: Output): void => {
      if (event.type === 'fleetgc.node.inventory') inventories.push(event);
      if (event.type === 'fleetgc.node.disk-stats') diskStats.push(event);
    };
    const publish = async (outputs: readonly Output[]): Promise<void> => {
      if (away) throw new FleetGcError('LOG_UNREACHABLE', 'no broker answers');
      outputs.forEach(take);
    };
    const agent = new NodeAgent({
      identity: NODE,
      nodeLabels: { zone: 'a' },
      policies: () => policySet({ imageGCHighThresholdPercent: 0, imageGCLowThresholdPercent: 0 }),
      runtime,
      contents: async () => NO_CONTENTS,
      filesystems: node.filesystems,
      podLogs: podLogReader(node),
      pods: node.kubelet,
      podSources: ['api'],
      state,
      publisher: { publish },
      clock: time,
      sleep: time.sleep,
      schedule: byTheClock(time.sleep),
      random: () => 0,
      logger: createLogger({ service: 'node-agent', level: 'debug' }, log),
      metrics,
      ...deps,
    });
    const abort = new AbortController();
    agents++;
    const ended = agent.run(abort.signal).finally(() => agents--);
    const stop = async (): Promise<void> => {
      abort.abort();
      await ended;
    };
    onTestFinished(stop);
    return { agent, runtime, inventories, diskStats, log: log.lines, metrics: metrics.text, stop };
  };
  const setAway = (value: boolean): void => {
    away = value;
  };
  return { time, node, state, start, setAway };
}

const isComplete = (inventory: Inventory): inventory is CompleteInventory => inventory.status === 'complete';
const completeOf = ({ inventories }: Running): CompleteInventory[] => inventories.filter(isComplete);
const last = ({ inventories }: Running): CompleteInventory => {
  const inventory = inventories.at(-1);
  if (inventory?.status !== 'complete') throw new Error(`the last inventory is ${inventory?.status}`);
  return inventory;
};
const imageIn = (inventory: CompleteInventory, tag: string) =>
  inventory.images.find(({ repoTags }) => repoTags.some((name) => name.endsWith(tag)));
const orderNow = (time: ManualTime, id: string, over: Parameters<typeof reclaim>[0] = {}) =>
  input(
    'observe',
    observe({ id, takenAt: time.now(), reclaim: reclaim({ ...WHOLE_DISK, step: 'containers', ...over }) }),
  );
const nth = (running: Running, count: number) => (): boolean => running.inventories.length >= count;

describe('an agent on a simulated node', () => {
  test('publishes an inventory of what is there at start', async () => {
    const { time, node, start } = await setUp();
    const uid = await node.kubelet.startPod(POD);
    const running = start();
    await time.passUntil('the first inventory', MINUTE, nth(running, 1));

    expect(last(running)).toMatchObject({
      ...NODE,
      trigger: 'start',
      reclaim: null,
      nodeLabels: { zone: 'a' },
      commandVersions: [1],
      allSourcesReady: true,
      sandboxImageKnown: true,
      podImagesKnown: true,
      pods: [{ uid, state: 'known', contentRemovable: false, runtimeRemovable: false }],
      containers: [{ state: 'running', pod: { uid, name: 'web', namespace: 'default' } }],
      sandboxes: [{ state: 'ready', podUid: uid }],
    });
    expect(
      imageIn(last(running), 'nginx:1')
        ?.usedBy.map(({ kind }) => kind)
        .toSorted(),
    ).toEqual(['container', 'pod']);
    expect(running.agent.problem()).toBeNull();
  });

  test('[M7, M12] says once what follows where containerd tells nothing of its images', async () => {
    const { time, node, start } = await setUp();
    const containerd = connectContainerd(node.endpoint);
    onTestFinished(() => containerd[Symbol.dispose]());
    const lines = logLines();
    const logger = createLogger({ service: 'node-agent', level: 'info' }, lines);
    const running = start({
      contents: loggedContentReading({ containerd, importsLookPulled: false, clock: time, logger }),
    });
    await time.passUntil('the first inventory', MINUTE, nth(running, 1));

    expect(lines.lines.filter((line) => line.includes('containerd told nothing of its images: '))).toEqual([
      expect.stringContaining('the runtime has no containerd API beside CRI'),
    ]);
  });

  test('has kept the records of an inventory before anybody can decide on it', async () => {
    const { time, node, state, start } = await setUp();
    await node.kubelet.startPod(POD);
    const kept = state.openReadOnly(IMAGE_HISTORY_FILE, ImageHistoryFile);
    const keptAtPublish: string[][] = [];
    const publish = async ([output]: readonly Output[]): Promise<void> => {
      if (output?.event.type !== 'fleetgc.node.inventory') return;
      keptAtPublish.push((kept.read()?.images ?? []).map(([id]) => id).toSorted());
    };
    start({ publisher: { publish } });
    await time.passUntil('the first inventory', MINUTE, () => keptAtPublish.length > 0);
    expect(keptAtPublish[0]).toEqual([...node.runtime.images.values()].map(({ id }) => id).toSorted());
    expect(keptAtPublish[0]).not.toEqual([]);
  });

  test('answers an order, repeats its reclaim, and the next step of it without a pause', async () => {
    const { time, start } = await setUp();
    const running = start();
    await time.passUntil('the first inventory', MINUTE, nth(running, 1));

    await running.agent.observe(orderNow(time, 'o1'));
    await time.passUntil('the answer', MINUTE, nth(running, 2));
    await running.agent.observe(orderNow(time, 'o2', { step: 'images' }));
    await time.passUntil('the next answer', 5 * SECOND, nth(running, 3));

    expect(running.inventories.map(({ trigger, reclaim: of }) => [trigger, of?.step])).toEqual([
      ['start', undefined],
      ['order', 'containers'],
      ['order', 'images'],
    ]);
    expect(await running.metrics()).toContain('fleetgc_agent_orders_total{outcome="accepted"} 2');
  });

  test('[D6] answers no order for a full disk that it does not have, and says so', async () => {
    const { time, start } = await setUp();
    const running = start({ policies: () => policySet() });
    await time.passUntil('the first inventory', MINUTE, nth(running, 1));
    await running.agent.observe(orderNow(time, 'o1'));
    await time.pass(MINUTE);

    expect(running.inventories.filter(({ trigger }) => trigger === 'order')).toEqual([]);
    expect(await running.metrics()).toContain('fleetgc_agent_orders_total{outcome="not-met"} 1');
    expect(running.log.join('')).toContain('meets no threshold of policy default for imageGC');
  });

  test('ignores and counts orders that are not for it', async () => {
    const { time, start } = await setUp();
    const running = start();
    await time.passUntil('the first inventory', MINUTE, nth(running, 1));
    const expired = time.now();
    await time.pass(MINUTE + SECOND);
    const before = running.inventories.length;
    await running.agent.observe(input('observe', observe({ id: 'a', takenAt: expired })));
    await running.agent.observe(input('observe', observe({ id: 'b', takenAt: time.now(), node: 'web-2' })));
    await time.pass(20 * SECOND);

    expect(running.inventories).toHaveLength(before);
    const metrics = await running.metrics();
    expect(metrics).toContain('fleetgc_agent_orders_total{outcome="expired"} 1');
    expect(metrics).toContain('fleetgc_agent_orders_total{outcome="other-node"} 1');
  });

  test('counts an order that expires while it waits', async () => {
    const { time, start } = await setUp();
    const running = start();
    await time.passUntil('the first inventory', MINUTE, nth(running, 1));
    await running.agent.observe(orderNow(time, 'o1'));
    await time.passUntil('the answer', MINUTE, nth(running, 2));
    const short = observe({
      id: 'o2',
      takenAt: time.now(),
      lifetimeMs: 3_000,
      reclaim: reclaim({ ...WHOLE_DISK, id: 'other' }),
    });
    await running.agent.observe(input('observe', short));
    await time.pass(20 * SECOND);
    expect(await running.metrics()).toContain('fleetgc_agent_orders_total{outcome="expired"} 1');
    expect(running.inventories).toHaveLength(2);
  });

  test.each(['current', 'old'] as const)('[G23] reports a death, on a runtime of age %s', async (age) => {
    const { time, node, start } = await setUp({ age });
    const uid = await node.kubelet.startPod(POD);
    const running = start();
    await time.passUntil('the first inventory', MINUTE, nth(running, 1));
    await time.pass(15 * SECOND);
    node.kubelet.crashPod(uid);
    await time.passUntil('an inventory', MINUTE, nth(running, 2));

    const [id] = [...node.runtime.containers.keys()];
    expect(last(running)).toMatchObject({ trigger: 'container-died', diedContainerIds: [id] });
  });

  test('[A8, K1] a deleted pod is gone after a minute without it, not before, and unknown after a restart', async () => {
    const { time, node, start } = await setUp();
    await node.kubelet.startPod(OTHER);
    const uid = await node.kubelet.startPod(POD);
    const running = start();
    await time.passUntil('the first inventory', MINUTE, nth(running, 1));
    node.kubelet.deletePod(uid);
    const deletedAtMs = time.now().sinceBootMs;
    const stateOf = (inventory: CompleteInventory) => inventory.pods.find((pod) => pod.uid === uid)?.state;
    await time.passUntil('the pod to be gone', 5 * MINUTE, () =>
      completeOf(running).some((inventory) => stateOf(inventory) === 'gone'),
    );
    for (const inventory of completeOf(running)) {
      if (stateOf(inventory) !== 'gone') continue;
      expect(inventory.takenAt.sinceBootMs - deletedAtMs).toBeGreaterThanOrEqual(50 * SECOND);
    }

    await running.stop();
    const again = start();
    await time.passUntil('the first inventory', MINUTE, nth(again, 1));
    expect(stateOf(last(again))).toBe('unknown');
  });

  test.each<[string, (node: SimulatedNode) => void]>([
    ['fails', (node) => (node.faults.podsUnreadable = true)],
    ['is empty', (node) => [...node.kubelet.pods.keys()].map((uid) => node.kubelet.deletePod(uid))],
  ])(
    '[A7, A8, K1] after a reboot, with a pod source that %s, nothing is removable',
    async (_name, disturb) => {
      const { time, node, start } = await setUp();
      await node.kubelet.startPod(OTHER);
      node.kubelet.deletePod(await node.kubelet.startPod(POD));
      const running = start();
      await time.passUntil('a pod to be gone', 5 * MINUTE, () =>
        completeOf(running).some(({ pods }) => pods.some(({ state }) => state === 'gone')),
      );
      await running.stop();
      time.reboot(BOOT_B, 3 * MINUTE);
      node.kubelet.restart();
      disturb(node);

      const again = start();
      await time.pass(10 * MINUTE, 10 * SECOND);
      expect(completeOf(again).length).toBeGreaterThan(1);
      for (const { pods, allSourcesReady } of completeOf(again)) {
        expect(allSourcesReady).toBe(false);
        expect(pods.filter((pod) => pod.contentRemovable || pod.runtimeRemovable)).toEqual([]);
      }
    },
  );

  test('[M3, C10] an image that a pod wants stays in use while the kubelet is silent', async () => {
    const { time, node, start } = await setUp();
    await node.kubelet.startPod(OTHER);
    await node.runtime.pullImage('nginx:1');
    const uid = node.kubelet.admitPod(POD);
    const running = start();
    await time.passUntil('the first inventory', MINUTE, nth(running, 1));
    node.faults.podsUnreadable = true;
    await time.pass(30 * SECOND);
    await running.agent.observe(orderNow(time, 'o1'));
    await time.passUntil('the answer', MINUTE, nth(running, 2));
    expect(last(running).allSourcesReady).toBe(false);
    expect(imageIn(last(running), 'nginx:1')?.usedBy).toEqual([{ kind: 'pod', id: uid }]);
  });

  test('[M1, M2] ages go on over a restart of the agent and a reboot of the node', async () => {
    const { time, node, start } = await setUp();
    await node.runtime.pullImage('nginx:1');
    const ageMs = (inventory: CompleteInventory): number =>
      inventory.takenAt.wallTimeMs - (imageIn(inventory, 'nginx:1')?.firstDetectedMs ?? Number.NaN);
    const first = start();
    await time.pass(20 * MINUTE, 10 * SECOND);
    await first.stop();
    const second = start();
    await time.passUntil('an inventory', MINUTE, nth(second, 1));
    expect(ageMs(last(second))).toBeGreaterThan(19 * MINUTE);
    expect(ageMs(last(second))).toBeLessThanOrEqual(21 * MINUTE);

    await second.stop();
    time.reboot(BOOT_B, HOUR);
    const third = start();
    await time.passUntil('an inventory', MINUTE, nth(third, 1));
    expect(ageMs(last(third))).toBeGreaterThan(19 * MINUTE);
    expect(ageMs(last(third))).toBeLessThanOrEqual(22 * MINUTE);
  });

  test.each([
    ['an hour back', -HOUR],
    ['a day ahead', 24 * HOUR],
    ['25 years ahead', 25 * YEAR],
  ])(
    'with a wall clock set %s no image is older than it is, and inventories go on',
    async (_name, stepMs) => {
      const { time, node, start } = await setUp();
      await node.runtime.pullImage('nginx:1');
      const running = start();
      await time.pass(20 * MINUTE, 10 * SECOND);
      const before = running.inventories.length;
      time.stepWall(stepMs);
      await time.pass(20 * MINUTE, 10 * SECOND);

      expect(running.inventories.length - before).toBeGreaterThanOrEqual(4);
      for (const { takenAt, images } of completeOf(running)) {
        for (const { firstDetectedMs } of images) {
          expect(takenAt.wallTimeMs - firstDetectedMs).toBeLessThanOrEqual(41 * MINUTE);
          expect(firstDetectedMs).toBeLessThanOrEqual(takenAt.wallTimeMs);
        }
      }
      await running.agent.observe(orderNow(time, 'o1'));
      const count = running.inventories.length;
      await time.passUntil('the answer to an order', MINUTE, nth(running, count + 1));
    },
  );

  test.each<[string, (node: SimulatedNode) => Promise<void> | void, string]>([
    ['is gone', (node) => node.die(), 'runtime-unreachable'],
    [
      'answers with an error',
      (node) => node.faults.onCall('listContainers', { kind: 'error', message: 'broken' }),
      'runtime-partial',
    ],
    ['answers half', (node) => node.faults.onCall('listPodSandbox', { kind: 'half' }), 'runtime-partial'],
  ])(
    '[C6] a runtime that %s: an incomplete inventory, no record changes, and on it goes',
    async (_name, disturb, code) => {
      const { time, node, start } = await setUp();
      await node.kubelet.startPod(POD);
      const running = start();
      await time.pass(10 * MINUTE, 10 * SECOND);
      const first = imageIn(last(running), 'nginx:1')?.firstDetectedMs;
      const before = running.inventories.length;
      await disturb(node);
      await running.agent.observe(orderNow(time, 'o1'));
      await time.passUntil('an incomplete inventory', 5 * MINUTE, nth(running, before + 1));
      expect(running.inventories.at(-1)).toMatchObject({ status: 'incomplete', problems: [{ code }] });
      expect(running.agent.problem()).not.toBeNull();

      node.faults.clear();
      await node.revive();
      await waitUntil('the runtime to answer again', 10_000, () => running.runtime.version());
      await time.passUntil(
        'a complete inventory',
        10 * MINUTE,
        () => running.inventories.at(-1)?.status === 'complete',
      );
      expect(imageIn(last(running), 'nginx:1')?.firstDetectedMs).toBe(first);
      expect(running.agent.problem()).toBeNull();
    },
  );

  test('while the log is away only the newest inventory and some disk statistics wait', async () => {
    const { time, start, setAway } = await setUp();
    const running = start();
    await time.passUntil('the first inventory', MINUTE, nth(running, 1));
    const stats = running.diskStats.length;
    setAway(true);
    await time.pass(2 * HOUR, MINUTE);
    expect(running.agent.problem()).toBe('no broker answers');
    const awayUntilMs = time.now().sinceBootMs;
    setAway(false);
    await time.passUntil(
      'what waited',
      MINUTE,
      () => running.diskStats.length >= stats + 60 && nth(running, 2)(),
    );

    const [, newest] = running.inventories;
    expect(awayUntilMs - (newest?.takenAt.sinceBootMs ?? 0)).toBeLessThanOrEqual(6 * MINUTE);
    const times = running.diskStats.slice(stats, stats + 60).map(({ takenAt }) => takenAt.sinceBootMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(awayUntilMs - (times[0] ?? 0)).toBeLessThanOrEqual(62 * MINUTE);
    expect(running.agent.problem()).toBeNull();
  });

  test('disk statistics come every minute, and at once when a percent changes', async () => {
    const { time, node, start } = await setUp();
    const running = start();
    await time.pass(2 * MINUTE + SECOND);
    expect(running.diskStats.length).toBeGreaterThanOrEqual(3);
    expect(running.diskStats.length).toBeLessThanOrEqual(4);
    expect(running.diskStats[0]?.fleetgcVersion).toBe(packageJson.version);
    const before = running.diskStats.length;
    node.disk.otherBytes += node.disk.capacityBytes / 50n;
    await time.passUntil('statistics of the change', 5 * SECOND, () => running.diskStats.length > before);
    const [earlier, later] = running.diskStats.slice(-2);
    expect(Number(earlier?.filesystems.imagefs?.availableBytes)).toBeGreaterThan(
      Number(later?.filesystems.imagefs?.availableBytes),
    );
    expect(later?.history.imagefs.availableBytes.length).toBeGreaterThan(10);
  });

  test('[M1] a damaged history is reported by the logger once, and images count as just detected', async () => {
    const { time, node, state, start } = await setUp();
    await node.runtime.pullImage('nginx:1');
    const damaged: Pick<typeof state, 'open' | 'openReadOnly'> = {
      ...state,
      open: () => ({
        read: () => {
          throw new FleetGcError('STATE_UNREADABLE', 'both copies are damaged');
        },
        write: () => undefined,
      }),
    };
    const running = start({ state: damaged });
    await time.passUntil('a complete inventory', 3 * MINUTE, () => completeOf(running).length > 0);
    expect(running.inventories[0]).toMatchObject({
      status: 'incomplete',
      trigger: 'start',
      problems: [{ code: 'history-unreadable' }],
    });
    const { takenAt, images } = last(running);
    for (const { firstDetectedMs } of images) {
      expect(takenAt.wallTimeMs - firstDetectedMs).toBeLessThanOrEqual(3 * MINUTE);
    }
  });

  test('without a pod source every pod is unknown', async () => {
    const { time, node, start } = await setUp();
    node.kubelet.deletePod(await node.kubelet.startPod(POD));
    const running = start({ pods: null });
    await time.pass(6 * MINUTE);
    for (const { pods, allSourcesReady } of completeOf(running)) {
      expect([allSourcesReady, pods.map(({ state }) => state)]).toEqual([false, ['unknown']]);
    }
    expect(completeOf(running).length).toBeGreaterThan(0);
  });
});
