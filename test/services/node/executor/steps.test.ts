import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { imageUsage } from '../../../../packages/cri/usage.ts';
import { type ErrorCode, FleetGcError } from '../../../../packages/process/errors.ts';
import { type FreshFacts, refused } from '../../../../services/node/executor/judge.ts';
import { openDirectory, type PodLogAccess } from '../../../../services/node/executor/pod-logs.ts';
import { Remover } from '../../../../services/node/executor/remove.ts';
import { completeListing, listedContainer } from '../../../fixtures/listing.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { POD_LABELS } from './support/executor-node.ts';
import { type FakeRuntime, fakeRuntime } from './support/fake-runtime.ts';
import { idle } from './support/looked.ts';

const HELD = refused({ reason: 'held', message: 'it holds' });

/** A runtime whose facts are always fresh, and refuse from the n-th question on; what is done is written down in order. */
function world(refusesFrom = Number.POSITIVE_INFINITY) {
  const runtime: FakeRuntime = fakeRuntime();
  const done: string[] = [];
  runtime.before = (call) => void done.push(call);
  let asked = 0;
  const fresh: FreshFacts = {
    confirm: async (look) => {
      asked += 1;
      if (asked >= refusesFrom) return HELD;
      const listing = completeListing({ containers: [...runtime.containers.values()] });
      return look({ listing, usage: imageUsage(listing, []), history: { kind: 'known', file: null } });
    },
    outdate: () => void done.push('outdated'),
  };
  const failing = (prefix: string, code: ErrorCode): void => {
    runtime.before = (call) => {
      done.push(call);
      if (call.startsWith(prefix)) throw new FleetGcError(code, 'as the test wants it');
    };
  };
  return { runtime, fresh, done, failing };
}

const remover = (
  runtime: FakeRuntime,
  podLogs: PodLogAccess = { podLogsDir: '/nowhere', containerLogsDir: '/nowhere', openDirectory },
) =>
  new Remover(
    runtime,
    podLogs,
    async () => ({ ok: false, message: 'nobody asks' }),
    async () => undefined,
  );

const failed = (reason: string) => ({ outcome: 'failed', reason, message: 'as the test wants it' });

describe('a sandbox', () => {
  const removing = async (prepare: (w: ReturnType<typeof world>) => void, refusesFrom?: number) => {
    const w = world(refusesFrom);
    w.runtime.sandboxes.set('sandbox-1', idle());
    prepare(w);
    return {
      attempt: await remover(w.runtime).remove({ kind: 'sandbox', sandbox: idle() }, w.fresh),
      done: w.done,
    };
  };

  test('[H6, K9] is stopped, looked at once more, and removed', async () => {
    expect(await removing(() => undefined)).toEqual({
      attempt: { outcome: 'removed' },
      done: ['stopSandbox sandbox-1', 'outdated', 'removeSandbox sandbox-1'],
    });
  });

  test('[K3] is not stopped where it may not go', async () => {
    expect(await removing(() => undefined, 1)).toEqual({ attempt: HELD, done: [] });
  });

  test('[K3] is told as stopped where it may not go after that', async () => {
    expect(await removing(() => undefined, 2)).toEqual({
      attempt: { ...HELD, alreadyDone: ['stopped'] },
      done: ['stopSandbox sandbox-1', 'outdated'],
    });
  });

  test('[H6, K9] that cannot be stopped is not removed', async () => {
    expect(await removing(({ failing }) => failing('stopSandbox', 'RUNTIME_FAILED'))).toEqual({
      attempt: failed('stop-failed'),
      done: ['stopSandbox sandbox-1'],
    });
  });

  test('[H6] that is not known at its stop was not stopped', async () => {
    expect(await removing(({ failing }) => failing('stopSandbox', 'RUNTIME_NOT_FOUND'), 2)).toEqual({
      attempt: HELD,
      done: ['stopSandbox sandbox-1', 'outdated'],
    });
  });
});

describe('a container', () => {
  type World = ReturnType<typeof world> & { readonly logPath: string; readonly link: string };

  async function removing(
    over: Parameters<typeof listedContainer>[1],
    prepare: (w: World) => void = () => undefined,
    refusesFrom?: number,
  ) {
    const base = temporaryDirectory();
    const podLogs = {
      podLogsDir: join(base, 'pods'),
      containerLogsDir: join(base, 'containers'),
      openDirectory,
    };
    const logPath = join(podLogs.podLogsDir, 'default_web_pod-1', 'app', '0.log');
    const link = join(podLogs.containerLogsDir, 'web_default_app-dead.log');
    mkdirSync(dirname(logPath), { recursive: true });
    mkdirSync(podLogs.containerLogsDir);
    writeFileSync(logPath, '');
    symlinkSync(logPath, link);
    const w = world(refusesFrom);
    const container = listedContainer('dead', { state: 'exited', labels: POD_LABELS, logPath, ...over });
    w.runtime.containers.set('dead', container);
    prepare({ ...w, logPath, link });
    const attempt = await remover(w.runtime, podLogs).remove({ kind: 'container', container }, w.fresh);
    const logs = [...readdirSync(dirname(logPath)), ...readdirSync(podLogs.containerLogsDir)];
    return { attempt, done: w.done, logs };
  }

  const STATUS = 'containerStatus dead';
  const LOGS = ['0.log', 'web_default_app-dead.log'];

  test('[G19, K4] is asked for before its logs, after them, and then removed', async () => {
    expect(await removing({})).toEqual({
      attempt: { outcome: 'removed' },
      done: [STATUS, STATUS, STATUS, 'removeContainer dead'],
      logs: [],
    });
  });

  test('[G15] in unknown state is stopped, and looked at anew', async () => {
    const { attempt, done, logs } = await removing({ state: 'unknown' });
    expect(attempt).toEqual({ outcome: 'removed' });
    expect(done).toEqual([
      ...[STATUS, STATUS, 'stopContainer(2) dead', 'outdated'],
      ...[STATUS, STATUS, STATUS, 'removeContainer dead'],
    ]);
    expect(logs).toEqual([]);
  });

  test.each([
    { annotations: { 'io.kubernetes.pod.terminationGracePeriod': '30' }, seconds: 30 },
    { annotations: { 'io.kubernetes.pod.terminationGracePeriod': '1' }, seconds: 2 },
    { annotations: { 'io.kubernetes.pod.terminationGracePeriod': '1234567890' }, seconds: 2 },
    { annotations: { 'io.kubernetes.pod.terminationGracePeriod': '123456789' }, seconds: 600 },
    { annotations: { 'io.kubernetes.pod.terminationGracePeriod': 'x30' }, seconds: 2 },
    { annotations: { 'io.kubernetes.pod.terminationGracePeriod': '30x' }, seconds: 2 },
    {
      annotations: {
        'io.kubernetes.pod.terminationGracePeriod': '30',
        'io.kubernetes.pod.deletionGracePeriod': '5',
      },
      seconds: 5,
    },
  ])('[G15] is given $seconds s by $annotations', async ({ annotations, seconds }) => {
    const { done } = await removing({ state: 'unknown', annotations });
    expect(done).toContain(`stopContainer(${seconds}) dead`);
  });

  test('[G15, K9] that cannot be stopped stays, with its logs', async () => {
    const found = await removing({ state: 'unknown' }, ({ failing }) =>
      failing('stopContainer', 'RUNTIME_FAILED'),
    );
    expect(found).toMatchObject({ attempt: failed('stop-failed'), logs: LOGS });
    expect(found.done).not.toContain('removeContainer dead');
  });

  test('[G15, M31] that is gone at its stop is gone', async () => {
    const { attempt } = await removing({ state: 'unknown' }, (w) => {
      w.runtime.before = (call) => {
        if (call.startsWith('stopContainer')) w.runtime.containers.clear();
      };
    });
    expect(attempt).toEqual({ outcome: 'not-found' });
  });

  test('[K3] stays where it may not go: at once, once it was stopped, and once its logs went', async () => {
    expect(await removing({}, undefined, 1)).toEqual({ attempt: HELD, done: [], logs: LOGS });
    expect(await removing({ state: 'unknown' }, undefined, 2)).toMatchObject({
      attempt: { ...HELD, alreadyDone: ['stopped'] },
      logs: LOGS,
    });
    expect(await removing({}, undefined, 2)).toMatchObject({
      attempt: { ...HELD, alreadyDone: ['logs-removed'] },
      logs: [],
    });
    expect((await removing({ state: 'unknown' }, undefined, 3)).attempt).toEqual({
      ...HELD,
      alreadyDone: ['stopped', 'logs-removed'],
    });
  });

  test.each([1, 2, 3])('[K4, K6] that runs at question %i for its status stays', async (nth) => {
    const found = await removing({}, ({ runtime }) => {
      let asked = 0;
      const { containerStatus } = runtime;
      runtime.containerStatus = async (id) => {
        const status = await containerStatus(id);
        asked += 1;
        return asked === nth ? { ...status, state: 'running' } : status;
      };
    });
    expect(found.attempt).toEqual({
      outcome: 'refused',
      reason: 'running',
      message: 'the container runs by now',
      ...(nth === 3 && { alreadyDone: ['logs-removed'] }),
    });
    expect(found.logs).toEqual(nth === 3 ? [] : LOGS);
    expect(found.done).not.toContain('removeContainer dead');
  });

  test.each([
    { nth: 1, attempt: { outcome: 'refused', reason: 'runtime-unavailable' } },
    { nth: 2, attempt: { outcome: 'refused', reason: 'runtime-unavailable' } },
    { nth: 3, attempt: { ...failed('runtime-error'), alreadyDone: ['logs-removed'] } },
  ])('[G20] whose status cannot be asked at question $nth stays', async ({ nth, attempt }) => {
    const found = await removing({}, (w) => {
      let asked = 0;
      w.runtime.before = (call) => {
        if (call === STATUS && ++asked === nth)
          throw new FleetGcError('RUNTIME_FAILED', 'as the test wants it');
        w.done.push(call);
      };
    });
    expect(found.attempt).toMatchObject({ ...attempt, message: 'as the test wants it' });
    expect(found.done).not.toContain('removeContainer dead');
  });

  test('[M31] that is gone when it is asked for needs nothing', async () => {
    expect(await removing({}, ({ runtime }) => runtime.containers.clear())).toEqual({
      attempt: { outcome: 'not-found' },
      done: [STATUS],
      logs: LOGS,
    });
  });

  test('[G20] whose log path is not safe stays', async () => {
    expect(await removing({ logPath: '/etc/passwd' })).toMatchObject({
      attempt: { outcome: 'refused', reason: 'unsafe-log-path' },
      done: [STATUS],
      logs: LOGS,
    });
  });

  test.each([
    { name: 'its log alone', prepare: ({ link }: World) => rmSync(link), hadLogs: true },
    { name: 'its symlink alone', prepare: ({ logPath }: World) => rmSync(logPath), hadLogs: true },
    {
      name: 'neither',
      prepare: ({ link, logPath }: World) => {
        rmSync(link);
        rmSync(logPath);
      },
      hadLogs: false,
    },
  ])(
    '[G19] that fails to go after $name: the result says whether logs went',
    async ({ prepare, hadLogs }) => {
      const { attempt } = await removing({}, (w) => {
        prepare(w);
        w.failing('removeContainer', 'RUNTIME_FAILED');
      });
      expect(attempt).toEqual({
        ...failed('runtime-error'),
        ...(hadLogs && { alreadyDone: ['logs-removed'] }),
      });
    },
  );

  test('[G19] whose logs cannot go stays', async () => {
    const found = await removing({}, ({ logPath }) => mkdirSync(`${logPath}.directory`));
    expect(found.attempt).toMatchObject({ outcome: 'failed', reason: 'log-removal-failed' });
    expect(found.done).toEqual([STATUS, STATUS]);
  });
});
