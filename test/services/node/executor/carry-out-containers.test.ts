import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { containerRemoval } from '../../../fixtures/command.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { NOW } from '../../../fixtures/time.ts';
import { addContainer, addSandbox, executorNode, POD_LABELS } from './support/executor-node.ts';

const failing =
  (...calls: string[]) =>
  (call: string) => {
    if (calls.some((one) => call.startsWith(one))) throw new FleetGcError('RUNTIME_FAILED', 'shim is gone');
  };

describe('a container', () => {
  test('[G19, G20, G22, K10] goes after its logs, rotated ones included, and its flat symlink', async () => {
    const node = executorNode();
    const logPath = addContainer(node, 'dead');
    const otherLog = addContainer(node, 'other');
    writeFileSync(`${logPath}.20260101-000000.gz`, '');
    const link = join(node.containerLogsDir, 'web_default_app-dead.log');
    symlinkSync(logPath, link);
    const left: string[][] = [];
    node.runtime.before = (call) => {
      if (call === 'removeContainer dead')
        left.push(readdirSync(dirname(logPath)), readdirSync(node.containerLogsDir));
    };
    await node.start().carryOut(containerRemoval(['dead']));
    expect(left).toEqual([['other.log'], []]);
    expect(node.runtime.calls).toEqual(['removeContainer dead']);
    expect(existsSync(otherLog)).toBe(true);
    expect(node.outcomes()).toMatchObject({ dead: { outcome: 'removed' } });
  });

  test('[G20] without a log file goes', async () => {
    const node = executorNode();
    addContainer(node, 'dead', { logPath: join(node.podLogsDir, 'default_web_pod-1', 'gone', '0.log') });
    await node.start().carryOut(containerRemoval(['dead']));
    expect(node.outcomes()).toMatchObject({ dead: { outcome: 'removed' } });
  });

  test('[G15, K9] in unknown state is stopped first, with at least two seconds', async () => {
    const node = executorNode();
    addContainer(node, 'dead', { state: 'unknown' });
    await node.start().carryOut(containerRemoval(['dead']));
    expect(node.runtime.calls).toEqual(['stopContainer(2) dead', 'removeContainer dead']);
  });

  test.each([
    { annotations: { 'io.kubernetes.pod.terminationGracePeriod': '30' }, seconds: 30 },
    { annotations: { 'io.kubernetes.pod.terminationGracePeriod': '1' }, seconds: 2 },
    { annotations: { 'io.kubernetes.pod.terminationGracePeriod': 'x' }, seconds: 2 },
    { annotations: { 'io.kubernetes.pod.terminationGracePeriod': '99999' }, seconds: 600 },
    {
      annotations: {
        'io.kubernetes.pod.terminationGracePeriod': '30',
        'io.kubernetes.pod.deletionGracePeriod': '5',
      },
      seconds: 5,
    },
  ])(
    '[G15] is given the grace period on it: $annotations is $seconds s',
    async ({ annotations, seconds }) => {
      const node = executorNode();
      addContainer(node, 'dead', { state: 'unknown', annotations });
      await node.start().carryOut(containerRemoval(['dead']));
      expect(node.runtime.calls[0]).toBe(`stopContainer(${seconds}) dead`);
    },
  );

  test('[G15, K9] that cannot be stopped stays, with its logs', async () => {
    const node = executorNode();
    const logPath = addContainer(node, 'dead', { state: 'unknown' });
    node.runtime.before = failing('stopContainer');
    await node.start().carryOut(containerRemoval(['dead']));
    expect(node.runtime.containers.has('dead')).toBe(true);
    expect(existsSync(logPath)).toBe(true);
    expect(node.outcomes()).toMatchObject({ dead: { outcome: 'failed', reason: 'stop-failed' } });
  });

  test('[G15] that is gone when it is to be stopped needs no stop', async () => {
    const node = executorNode();
    addContainer(node, 'dead', { state: 'unknown' });
    node.runtime.before = (call) => {
      if (call.startsWith('stopContainer')) node.runtime.containers.clear();
    };
    await node.start().carryOut(containerRemoval(['dead']));
    expect(node.outcomes()).toEqual({ dead: { outcome: 'not-found' } });
  });

  test('[G15, G20] whose status cannot be read stays', async () => {
    const node = executorNode();
    const logPath = addContainer(node, 'dead');
    let lists = 0;
    node.runtime.before = (call) => {
      if (call === 'listContainers') lists += 1;
      // The first status belongs to the listing.
      if (call === 'containerStatus dead' && lists >= 2) throw new FleetGcError('RUNTIME_FAILED', 'no shim');
    };
    await node.start().carryOut(containerRemoval(['dead']));
    expect(existsSync(logPath)).toBe(true);
    expect(node.outcomes()).toMatchObject({ dead: { outcome: 'refused', reason: 'runtime-unavailable' } });
  });

  test('[K4, K6] that was started after the listing stays', async () => {
    const node = executorNode();
    const logPath = addContainer(node, 'new', {
      state: 'created',
      createdAtNs: BigInt(NOW - 600_000) * 1_000_000n,
    });
    const start = startAfter(node, 2);
    node.runtime.after = start;
    await node.start().carryOut(containerRemoval(['new']));
    expect(node.runtime.calls).toEqual([]);
    expect(existsSync(logPath)).toBe(true);
    expect(node.outcomes()).toMatchObject({ new: { outcome: 'refused', reason: 'running' } });
  });

  /** The listing asks for the status once, the judging of the logs once more. */
  function startedAtStatus(nth: number) {
    const node = executorNode();
    const logPath = addContainer(node, 'new', {
      state: 'created',
      createdAtNs: BigInt(NOW - 600_000) * 1_000_000n,
    });
    let statuses = 0;
    node.runtime.after = (call) => {
      if (call !== 'containerStatus new' || ++statuses < nth) return;
      const created = node.runtime.containers.get('new');
      if (created) node.runtime.containers.set('new', { ...created, state: 'running' });
    };
    return { node, logPath };
  }

  test('[K4, K6] that was started while its logs were looked for stays, with its logs', async () => {
    const { node, logPath } = startedAtStatus(2);
    await node.start().carryOut(containerRemoval(['new']));
    expect(node.runtime.calls).toEqual([]);
    expect(existsSync(logPath)).toBe(true);
    expect(node.outcomes()).toEqual({
      new: { outcome: 'refused', reason: 'running', message: expect.any(String) },
    });
    expect(JSON.parse(node.state.files.get('journal') ?? '').lastActions.container).toBeNull();
  });

  test('[K4, K6] that was started while its logs went stays, and its result says that they went', async () => {
    const { node, logPath } = startedAtStatus(3);
    await node.start().carryOut(containerRemoval(['new']));
    expect(node.runtime.calls).toEqual([]);
    expect(existsSync(logPath)).toBe(false);
    expect(node.outcomes()).toMatchObject({
      new: { outcome: 'refused', reason: 'running', alreadyDone: ['logs-removed'] },
    });
    const { lastActions } = JSON.parse(node.state.files.get('journal') ?? '');
    expect(lastActions.container).toMatchObject({ commandId: 'command-1' });
  });

  test('[G19] that the runtime does not remove after its logs went: the result says so', async () => {
    const node = executorNode();
    addContainer(node, 'dead');
    node.runtime.before = failing('removeContainer');
    await node.start().carryOut(containerRemoval(['dead']));
    expect(node.outcomes()).toMatchObject({ dead: { outcome: 'failed', alreadyDone: ['logs-removed'] } });
  });

  test('[G15, K3] that may not go any more once it is stopped stays, with its logs', async () => {
    const node = executorNode();
    const logPath = addContainer(node, 'dead', { state: 'unknown' });
    node.runtime.after = (call) => {
      if (call.startsWith('stopContainer')) writeFileSync(node.localFile, 'hold: true');
    };
    await node.start().carryOut(containerRemoval(['dead']));
    expect(node.runtime.gone).toEqual([]);
    expect(existsSync(logPath)).toBe(true);
    expect(node.outcomes()).toMatchObject({
      dead: { outcome: 'refused', reason: 'held', alreadyDone: ['stopped'] },
    });
  });

  test('[G15, G20] leaves the log that belongs to another container since it was stopped', async () => {
    const node = executorNode();
    const logPath = addContainer(node, 'dead', { state: 'unknown' });
    const next = `${logPath}.1`;
    writeFileSync(next, 'a line of the other container');
    node.runtime.after = (call) => {
      if (call.startsWith('stopContainer')) addContainer(node, 'next', { logPath: next });
    };
    await node.start().carryOut(containerRemoval(['dead']));
    expect(node.outcomes()).toMatchObject({ dead: { outcome: 'removed' } });
    expect(existsSync(logPath)).toBe(false);
    expect(existsSync(next)).toBe(true);
  });

  test('[G19] whose logs cannot be removed stays', async () => {
    const node = executorNode();
    const logPath = addContainer(node, 'dead');
    mkdirSync(`${logPath}.directory`);
    await node.start().carryOut(containerRemoval(['dead']));
    expect(node.runtime.calls).toEqual([]);
    expect(node.outcomes()).toMatchObject({ dead: { outcome: 'failed', reason: 'log-removal-failed' } });
  });

  test.each(['', 'dead.log', '/etc/hosts', '/var/log/pods/../../etc/x', '/var/log/pods/a/*'])(
    '[G20] with the log path "%s" stays',
    async (logPath) => {
      const node = executorNode();
      addContainer(node, 'dead', { logPath });
      await node.start().carryOut(containerRemoval(['dead']));
      expect(node.runtime.calls).toEqual([]);
      expect(node.outcomes()).toMatchObject({ dead: { outcome: 'refused', reason: 'unsafe-log-path' } });
    },
  );

  test("[G20] whose log path leads into another pod's directory stays, and so do that pod's logs", async () => {
    const node = executorNode();
    const foreign = join(node.podLogsDir, 'default_db_pod-2', 'app', '0.log');
    mkdirSync(dirname(foreign), { recursive: true });
    writeFileSync(foreign, 'a line of the other pod');
    addContainer(node, 'dead', { logPath: foreign });
    await node.start().carryOut(containerRemoval(['dead']));
    expect(node.runtime.calls).toEqual([]);
    expect(existsSync(foreign)).toBe(true);
    expect(node.outcomes()).toMatchObject({ dead: { outcome: 'refused', reason: 'unsafe-log-path' } });
  });

  test('[M31] that is removed by somebody else at the same moment is a success', async () => {
    const node = executorNode();
    addContainer(node, 'dead');
    node.runtime.before = (call) => {
      if (call === 'removeContainer dead') node.runtime.containers.clear();
    };
    await node.start().carryOut(containerRemoval(['dead']));
    expect(node.outcomes()).toEqual({ dead: { outcome: 'not-found', alreadyDone: ['logs-removed'] } });
  });

  test('[M31, K5] that may have gone by our call counts as an action: older commands are overtaken', async () => {
    const node = executorNode();
    addContainer(node, 'dead');
    addContainer(node, 'next');
    node.runtime.after = (call) => {
      if (call === 'removeContainer dead') throw new FleetGcError('RUNTIME_FAILED', 'no answer any more');
    };
    const executor = node.start();
    await executor.carryOut(containerRemoval(['dead'], { id: 'first' }));
    expect(node.outcomes('first')).toEqual({
      dead: { outcome: 'not-found', alreadyDone: ['logs-removed'] },
    });
    expect(await executor.carryOut(containerRemoval(['next'], { id: 'second' }))).toMatchObject({
      reason: 'superseded',
    });
  });

  test.each([
    { code: 'RUNTIME_FAILED', looks: 3, outcome: 'not-found' },
    { code: 'RUNTIME_TIMEOUT', looks: 3, outcome: 'removed' },
    { code: 'RUNTIME_FAILED', looks: 20, outcome: 'failed' },
  ] as const)(
    '[M31] whose removal ends with $code, and that is gone $looks lists later: $outcome',
    async ({ code, looks, outcome }) => {
      const node = executorNode();
      addContainer(node, 'dead');
      let listed = 0;
      node.runtime.before = (call) => {
        if (call === 'removeContainer dead') {
          listed = 1;
          throw new FleetGcError(code, 'container is already in removing state');
        }
        if (call === 'listContainers' && listed > 0 && ++listed > looks) node.runtime.containers.clear();
      };
      await node.start().carryOut(containerRemoval(['dead']));
      expect(node.outcomes()).toMatchObject({ dead: { outcome } });
    },
  );
});

/** Starts the container after the n-th list of containers, which no listing then contradicts. */
function startAfter(node: ReturnType<typeof executorNode>, lists: number): (call: string) => void {
  let seen = 0;
  return (call) => {
    if (call !== 'listContainers' || ++seen !== lists) return;
    const created = node.runtime.containers.get('new');
    if (created) node.runtime.containers.set('new', { ...created, state: 'running' });
  };
}

describe('a sandbox', () => {
  test('[H6, K9] is stopped, and then removed', async () => {
    const node = executorNode();
    addSandbox(node, 'sandbox-1');
    await node.start().carryOut(containerRemoval(['sandbox-1']));
    expect(node.runtime.calls).toEqual(['stopSandbox sandbox-1', 'removeSandbox sandbox-1']);
    expect(node.outcomes()).toMatchObject({ 'sandbox-1': { outcome: 'removed' } });
  });

  test('[H6, K9, M33] that cannot be stopped is not removed, and backs off', async () => {
    const node = executorNode();
    addSandbox(node, 'sandbox-1');
    node.runtime.before = failing('stopSandbox');
    await node.start().carryOut(containerRemoval(['sandbox-1']));
    expect(node.runtime.calls).toEqual(['stopSandbox sandbox-1']);
    // It is looked for over a second, whether somebody else removes it.
    expect(node.outcomes()).toMatchObject({
      'sandbox-1': { outcome: 'failed', reason: 'stop-failed', backoffUntilMs: NOW + 61_000 },
    });
  });

  test('[M31] that somebody else removes while it is to be stopped is a success', async () => {
    const node = executorNode();
    addSandbox(node, 'sandbox-1');
    let isStopped = false;
    node.runtime.before = (call) => {
      if (call === 'listSandboxes' && isStopped) node.runtime.sandboxes.clear();
      if (call !== 'stopSandbox sandbox-1') return;
      isStopped = true;
      throw new FleetGcError('RUNTIME_FAILED', 'sandbox is being removed');
    };
    await node.start().carryOut(containerRemoval(['sandbox-1']));
    expect(node.outcomes()).toEqual({ 'sandbox-1': { outcome: 'not-found' } });
  });

  test('[H1, H3] that got a container while it was stopped stays', async () => {
    const node = executorNode();
    addSandbox(node, 'sandbox-1');
    node.runtime.after = (call) => {
      if (call === 'stopSandbox sandbox-1') addContainer(node, 'new', { sandboxId: 'sandbox-1' });
    };
    await node.start().carryOut(containerRemoval(['sandbox-1']));
    expect(node.runtime.calls).toEqual(['stopSandbox sandbox-1']);
    expect(node.outcomes()).toMatchObject({
      'sandbox-1': { reason: 'has-containers', alreadyDone: ['stopped'] },
    });
  });

  test('[H1] emptied by the same command goes with it', async () => {
    const node = executorNode();
    addSandbox(node, 'sandbox-1');
    addContainer(node, 'dead', { sandboxId: 'sandbox-1' });
    await node.start().carryOut(containerRemoval(['dead', 'sandbox-1']));
    expect(node.runtime.gone).toEqual(['dead', 'sandbox-1']);
  });

  test('[H3] that is ready again stays', async () => {
    const node = executorNode();
    addSandbox(node, 'sandbox-1', { state: 'ready' });
    await node.start().carryOut(containerRemoval(['sandbox-1']));
    expect(node.runtime.calls).toEqual([]);
  });
});

describe('a command of containers', () => {
  test('[G14] one failure leaves the others their turn', async () => {
    const node = executorNode();
    for (const id of ['a', 'b', 'c']) addContainer(node, id);
    node.runtime.before = failing('removeContainer b');
    const result = await node.start().carryOut(containerRemoval(['a', 'b', 'c']));
    expect(node.runtime.gone).toEqual(['a', 'c']);
    expect(result).toMatchObject({ removed: 2, failed: 1 });
  });

  test("[M41] leaves what is not the kubelet's", async () => {
    const node = executorNode();
    addContainer(node, 'theirs', { labels: {} });
    addSandbox(node, 'sandbox-theirs', { labels: {} });
    addContainer(node, 'ours', { labels: POD_LABELS });
    await node.start().carryOut(containerRemoval(['theirs', 'sandbox-theirs', 'ours']));
    expect(node.runtime.gone).toEqual(['ours']);
  });

  test('[M21] stops when the target is reached as measured', async () => {
    const node = executorNode();
    node.runtime.otherBytes = 200n;
    for (const id of ['a', 'b']) addContainer(node, id);
    node.runtime.after = (call) => {
      if (call === 'removeContainer a') node.runtime.otherBytes = 50n;
    };
    const target = { filesystem: 'containerfs', resource: 'availableBytes', atLeast: '900' } as const;
    const command = containerRemoval(['a', 'b'], { reclaim: reclaim({ step: 'containers', target }) });
    expect(await node.start().carryOut(command)).toMatchObject({
      removed: 1,
      notNeeded: 1,
      targetReached: true,
      measured: { filesystem: 'containerfs', beforeBytes: '800', afterBytes: '950' },
    });
  });

  test('[M21] waits at its end, not after each container, for space that becomes free late', async () => {
    const node = executorNode();
    node.runtime.otherBytes = 200n;
    for (const id of ['a', 'b', 'c']) addContainer(node, id);
    const freeAtMs = node.clock.now().sinceBootMs + 1_500;
    node.runtime.before = (call) => {
      if (call === 'statfs' && node.clock.now().sinceBootMs >= freeAtMs) node.runtime.otherBytes = 50n;
    };
    const command = containerRemoval(['a', 'b', 'c'], {
      reclaim: reclaim({ step: 'containers', target: TO_900 }),
    });
    expect(await node.start().carryOut(command)).toMatchObject({ removed: 3, targetReached: true });
    expect(node.clock.now().sinceBootMs).toBeLessThan(freeAtMs + 100);
  });
});

const TO_900 = { filesystem: 'containerfs', resource: 'availableBytes', atLeast: '900' } as const;
