import { getEventListeners } from 'node:events';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import type { ObjectWork } from '../../../../services/node/executor/executor.ts';
import type { JournalEntry } from '../../../../services/node/executor/journal.ts';
import { containerRemoval, imageRemoval, logRemoval } from '../../../fixtures/command.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { toTarget } from '../../../fixtures/reclaim.ts';
import { instant } from '../../../fixtures/time.ts';
import { parsedLines } from '../../../support/log-lines.ts';
import { BOOT_B } from '../../../support/manual-clock.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { APP, dead, idle, image } from './support/looked.ts';
import { accept, outcomes, type RemovalNode, removalNode } from './support/removal-node.ts';

const IMAGES = imageRemoval([APP, 'sha256:other']);
const CONTAINERS = containerRemoval(['dead', 'sandbox-1']);
const LOGS = logRemoval(['default_web_pod-9', 'web_default_app-0123.log']);

/** A node with all that these commands name. */
function node(): RemovalNode {
  const base = temporaryDirectory();
  const made = removalNode(base);
  const logPath = join(made.podLogsDir, 'default_web_pod-1', 'app', '0.log');
  mkdirSync(dirname(logPath), { recursive: true });
  writeFileSync(logPath, 'a line\n');
  mkdirSync(join(made.podLogsDir, 'default_web_pod-9', 'app'), { recursive: true });
  mkdirSync(made.containerLogsDir);
  symlinkSync(
    join(made.podLogsDir, 'gone', '0.log'),
    join(made.containerLogsDir, 'web_default_app-0123.log'),
  );
  made.runtime.images.set(APP, image());
  made.runtime.containers.set('dead', dead({ logPath }));
  made.runtime.sandboxes.set('sandbox-1', idle());
  return made;
}

interface Given {
  readonly command: Command;
  /** Which object of it; the first when not given. */
  readonly index?: number;
  readonly prepare?: (on: RemovalNode) => void;
  readonly entry?: Partial<JournalEntry>;
  readonly plan?: ObjectWork['plan'];
  readonly signal?: AbortSignal;
}

/** What the node's own plan says when it is asked: the object may go as the command names it. */
const agreeing: ObjectWork['plan'] = async () => ({ reclaim: null, itemOf: (named) => named });

async function removing({ command, index = 0, prepare, entry = {}, plan = agreeing, signal }: Given) {
  const on = node();
  const item = command.items[index];
  if (item === undefined) throw new Error('the command has that item');
  const accepted = accept(on, command, entry);
  prepare?.(on);
  await on.executor.removeObject(
    { entry: accepted, index, item, plan },
    signal ?? new AbortController().signal,
  );
  const { lastActions } = on.journal.state();
  return { on, steps: on.steps, outcome: outcomes(on)[item.id], lastAction: lastActions[item.kind] };
}

const failing =
  (call: string, message = 'device busy') =>
  (on: RemovalNode): void => {
    on.at = (step) => {
      if (step === call) throw new FleetGcError('RUNTIME_FAILED', message);
    };
  };

/** The disk takes so long for the journal, once the object is taken in hand; what else happens meanwhile. */
const slowWhenInHand = (on: RemovalNode, ms: number, meanwhile: () => void = () => undefined): void => {
  on.at = (step) => {
    if (!step.startsWith('wrote') || !step.includes('in-hand')) return;
    on.clock.advance(ms);
    meanwhile();
  };
};

describe('[M7, D14] what is done for one object, in order: measured, judged, taken in hand, removed, measured', () => {
  test('an image', async () => {
    const { steps, outcome, on } = await removing({ command: IMAGES });
    expect(steps).toEqual([
      'statfs',
      'look',
      'wrote in-hand, waiting',
      `removeImage ${APP}`,
      'listImages',
      'wrote removed, waiting',
      'statfs',
      'wrote removed, waiting',
    ]);
    expect(outcome).toEqual({
      outcome: 'removed',
      measured: { filesystem: 'imagefs', beforeBytes: '990', afterBytes: '1000' },
      estimatedBytes: 10,
      durationMs: 0,
    });
    expect(parsedLines(on.logLines)).toMatchObject([{ id: APP, name: 'registry.example/team/app:1' }]);
  });

  test('[G19, K10] a container, after its logs', async () => {
    const { steps, outcome, on } = await removing({ command: CONTAINERS });
    expect(steps).toEqual([
      'statfs',
      'look',
      'wrote in-hand, waiting',
      ...['containerStatus dead', 'containerStatus dead', 'containerStatus dead'],
      'removeContainer dead',
      'wrote removed, waiting',
      'statfs',
      'wrote removed, waiting',
    ]);
    expect(outcome).toMatchObject({ outcome: 'removed', estimatedBytes: null });
    expect(readdirSync(join(on.podLogsDir, 'default_web_pod-1', 'app'))).toEqual([]);
  });

  test('[H6, K9] a sandbox, which is stopped first, and looked at again', async () => {
    const { steps, outcome } = await removing({ command: CONTAINERS, index: 1 });
    expect(steps).toEqual([
      'statfs',
      'look',
      'wrote waiting, in-hand',
      'stopSandbox sandbox-1',
      'look',
      'removeSandbox sandbox-1',
      'wrote waiting, removed',
      'statfs',
      'wrote waiting, removed',
    ]);
    expect(outcome).toMatchObject({ outcome: 'removed' });
  });

  test('[I3] a directory of logs, of which the runtime knows nothing', async () => {
    const { steps, outcome, on } = await removing({ command: LOGS });
    expect(steps).toEqual([
      'statfs',
      'look',
      'wrote in-hand, waiting',
      'wrote removed, waiting',
      'statfs',
      'wrote removed, waiting',
    ]);
    expect(outcome).toMatchObject({ outcome: 'removed' });
    expect(readdirSync(on.podLogsDir)).toEqual(['default_web_pod-1']);
  });

  test('[I4] a symlink of a log', async () => {
    const { outcome, on } = await removing({ command: LOGS, index: 1 });
    expect(outcome).toMatchObject({ outcome: 'removed' });
    expect(readdirSync(on.containerLogsDir)).toEqual([]);
  });
});

test('[I6, I7] a symlink that a container of now may mean stays', async () => {
  const id = `0123${'a'.repeat(60)}`;
  const name = `web_default_app-${id}.log`;
  const { outcome } = await removing({
    command: logRemoval([name]),
    prepare: ({ runtime, containerLogsDir }) => {
      symlinkSync('/nowhere/0.log', join(containerLogsDir, name));
      runtime.containers.set(id, dead({ id, state: 'running' }));
    },
  });
  expect(outcome).toMatchObject({ outcome: 'refused', reason: 'running' });
});

test('[I4] a symlink whose log is there stays', async () => {
  const { outcome, on } = await removing({
    command: LOGS,
    index: 1,
    prepare: ({ podLogsDir }) => {
      mkdirSync(join(podLogsDir, 'gone'));
      writeFileSync(join(podLogsDir, 'gone', '0.log'), 'a line\n');
    },
  });
  expect(outcome).toMatchObject({ outcome: 'refused', reason: 'target-exists' });
  expect(readdirSync(on.containerLogsDir)).toHaveLength(1);
});

describe('an object that may not go', () => {
  test('by the plan of this node is not taken in hand, and nothing is read of the disk any more', async () => {
    const refusal = { reason: 'kept-by-own-plan', message: 'too young here' } as const;
    const { steps, outcome, on, lastAction } = await removing({
      command: IMAGES,
      plan: async () => ({ reclaim: null, itemOf: () => refusal }),
    });
    expect(steps).toEqual(['statfs', 'look', 'wrote refused, waiting']);
    expect(outcome).toEqual({ outcome: 'refused', ...refusal });
    expect(lastAction).toBeNull();
    expect(on.logLines[0]).not.toContain('"name"');
  });

  test.each([
    {
      name: 'a pause',
      over: { policy: { kind: 'paused', pause: { reason: 'an incident' } } },
      reason: 'paused',
    },
    {
      name: 'a policy that does not enforce',
      over: { policy: { kind: 'not-enforced', message: 'dry-run' } },
      reason: 'policy-not-in-force',
    },
    { name: 'a key that was taken back', over: { distrustOf: () => 'taken back' }, reason: 'not-trusted' },
  ] as const)('by $name is refused before the runtime is asked', async ({ over, reason }) => {
    const { steps, outcome } = await removing({
      command: IMAGES,
      prepare: (on) => {
        on.restrictions = over;
      },
    });
    expect(steps).toEqual(['statfs', 'wrote refused, waiting']);
    expect(outcome).toMatchObject({ outcome: 'refused', reason });
  });

  test('since the time of its command is over is refused', async () => {
    const prepare = ({ clock }: RemovalNode) => clock.advance(IMAGES.lifetimeMs);
    const { outcome } = await removing({ command: IMAGES, prepare });
    expect(outcome).toMatchObject({ outcome: 'refused', reason: 'expired' });
  });

  test('since the runtime cannot be read is refused', async () => {
    const { outcome } = await removing({
      command: IMAGES,
      prepare: (on) => {
        on.factsProblem = 'no socket';
      },
    });
    expect(outcome).toEqual({ outcome: 'refused', reason: 'runtime-unavailable', message: 'no socket' });
  });

  test('[M31] since it is gone needs nothing', async () => {
    const { steps, outcome, lastAction } = await removing({ command: IMAGES, index: 1 });
    expect(steps).toEqual(['statfs', 'look', 'wrote waiting, not-found']);
    expect(outcome).toEqual({ outcome: 'not-found' });
    expect(lastAction).toBeNull();
  });
});

describe('[K3] facts that grew old while the object was taken in hand', () => {
  test('of a second serve still', async () => {
    const { steps } = await removing({ command: IMAGES, prepare: (on) => slowWhenInHand(on, 1_000) });
    expect(steps.filter((step) => step === 'look')).toHaveLength(1);
  });

  test('of more are made anew, and the object goes by those', async () => {
    const { steps, outcome } = await removing({
      command: IMAGES,
      prepare: (on) => slowWhenInHand(on, 1_001),
    });
    expect(steps.slice(0, 5)).toEqual([
      'statfs',
      'look',
      'wrote in-hand, waiting',
      'look',
      `removeImage ${APP}`,
    ]);
    expect(outcome).toMatchObject({ outcome: 'removed', durationMs: 1_001 });
  });

  test.each([
    { command: IMAGES, index: 0 },
    { command: LOGS, index: 0 },
    { command: LOGS, index: 1 },
    { command: CONTAINERS, index: 0 },
    { command: CONTAINERS, index: 1 },
  ])('a pause that came meanwhile keeps it ($command.kind, object $index)', async ({ command, index }) => {
    const { steps, outcome, lastAction, on } = await removing({
      command,
      index,
      prepare: (made) =>
        slowWhenInHand(made, 1_001, () => {
          made.restrictions = { policy: { kind: 'paused', pause: { reason: 'an incident' } } };
        }),
    });
    expect(outcome).toMatchObject({ outcome: 'refused', reason: 'paused' });
    expect(lastAction).toBeNull();
    expect(on.runtime.calls).toEqual([]);
    expect(existsSync(join(on.podLogsDir, 'default_web_pod-9'))).toBe(true);
    expect(readdirSync(on.containerLogsDir)).toHaveLength(1);
    expect(steps.at(-1)).toContain('refused');
  });

  test('the end of the time of its command keeps it', async () => {
    const { outcome, on } = await removing({
      command: IMAGES,
      prepare: (made) => slowWhenInHand(made, IMAGES.lifetimeMs),
    });
    expect(outcome).toMatchObject({ outcome: 'refused', reason: 'expired' });
    expect(on.runtime.calls).toEqual([]);
  });

  test('another plan of this node keeps it', async () => {
    let asked = 0;
    const { outcome } = await removing({
      command: IMAGES,
      prepare: (on) => slowWhenInHand(on, 1_001),
      plan: async () => ({
        reclaim: null,
        itemOf: (named) =>
          ++asked === 1 ? named : { reason: 'kept-by-own-plan', message: 'it was used just now' },
      }),
    });
    expect(outcome).toMatchObject({ outcome: 'refused', message: 'it was used just now' });
  });
});

describe('a removal that fails', () => {
  test('[M33] is told with the time until which the object is left alone', async () => {
    const { outcome, lastAction, on } = await removing({
      command: IMAGES,
      prepare: failing(`removeImage ${APP}`),
    });
    expect(outcome).toEqual({
      outcome: 'failed',
      reason: 'runtime-error',
      message: 'device busy',
      backoffUntilMs: on.clock.now().wallTimeMs + 60_000,
    });
    expect(lastAction).toEqual({ at: on.clock.now(), commandId: 'command-1' });
  });

  test('[M31] of a container that somebody else removes meanwhile has not failed', async () => {
    const { outcome, steps } = await removing({
      command: CONTAINERS,
      prepare: (on) => {
        on.at = (step) => {
          if (step.startsWith('sleep')) on.runtime.containers.clear();
          if (step === 'removeContainer dead')
            throw new FleetGcError('RUNTIME_FAILED', 'it is being removed');
        };
      },
    });
    expect(outcome).toEqual({ outcome: 'not-found', alreadyDone: ['logs-removed'] });
    expect(steps.slice(steps.indexOf('removeContainer dead'))).toEqual([
      'removeContainer dead',
      'look',
      'sleep 200',
      'look',
      'statfs',
      'wrote not-found, waiting',
    ]);
  });

  test('is not looked at again once the executor is stopped', async () => {
    const stopping = new AbortController();
    const { outcome, steps } = await removing({
      command: CONTAINERS,
      signal: stopping.signal,
      prepare: (on) => {
        on.at = (step) => {
          if (step !== 'removeContainer dead') return;
          stopping.abort();
          throw new FleetGcError('RUNTIME_FAILED', 'it is being removed');
        };
      },
    });
    expect(outcome).toMatchObject({ outcome: 'failed', reason: 'runtime-error' });
    expect(steps.filter((step) => step === 'look')).toHaveLength(1);
  });

  test.each(['statfs', 'look'])(
    'in a way that nobody foresaw (%s) is for the caller to tell',
    async (call) => {
      const removal = removing({ command: IMAGES, prepare: failing(call, 'nobody foresaw this') });
      await expect(removal).rejects.toThrow('nobody foresaw this');
    },
  );
});

describe('[D14, M7] a target', () => {
  test('that is reached needs the object no more: the runtime is not asked', async () => {
    const { steps, outcome, lastAction } = await removing({
      command: { ...IMAGES, reclaim: toTarget('990') },
    });
    expect(steps).toEqual(['statfs', 'wrote not-needed, waiting']);
    expect(outcome).toEqual({ outcome: 'not-needed', message: 'the target is reached, as measured' });
    expect(lastAction).toBeNull();
  });

  test('that is not reached lets the object go', async () => {
    const { outcome } = await removing({ command: { ...IMAGES, reclaim: toTarget('991') } });
    expect(outcome).toMatchObject({ outcome: 'removed' });
  });

  test('[A1] that cannot be measured lets nothing go', async () => {
    const { steps, outcome } = await removing({
      command: { ...IMAGES, reclaim: toTarget('500') },
      prepare: ({ runtime }) => {
        runtime.filesystemReadings = () => filesystems({ availableBytes: null });
      },
    });
    expect(steps).toEqual(['statfs', 'wrote not-done, waiting']);
    expect(outcome).toEqual({
      outcome: 'not-done',
      message: 'the filesystem cannot be measured, so nobody can see when the target is reached',
    });
  });

  test('that nobody wants is not asked for: the object goes without a measurement', async () => {
    const { outcome } = await removing({
      command: IMAGES,
      prepare: ({ runtime }) => {
        runtime.filesystemReadings = () => filesystems({ availableBytes: null });
      },
    });
    expect(outcome).toMatchObject({ outcome: 'removed', measured: null });
  });
});

describe('an executor that is stopped', () => {
  const NOT_DONE = { outcome: 'not-done', message: 'the executor was stopped' };

  test('before it judges leaves the object, and says so', async () => {
    const { steps, outcome } = await removing({ command: IMAGES, signal: AbortSignal.abort() });
    expect(steps).toEqual(['statfs', 'wrote not-done, waiting']);
    expect(outcome).toEqual(NOT_DONE);
  });

  test('also says so of an object that a target needs no more', async () => {
    const command = { ...IMAGES, reclaim: toTarget('500') };
    expect((await removing({ command, signal: AbortSignal.abort() })).outcome).toEqual(NOT_DONE);
  });

  test('while it judges waits for no answer', async () => {
    const stopping = new AbortController();
    const { steps, outcome, lastAction } = await removing({
      command: IMAGES,
      signal: stopping.signal,
      plan: () => {
        stopping.abort();
        return Promise.withResolvers<never>().promise;
      },
    });
    expect(steps).toEqual(['statfs', 'wrote not-done, waiting']);
    expect(outcome).toEqual(NOT_DONE);
    expect(lastAction).toBeNull();
  });

  test('while it removes brings the removal to its end', async () => {
    const stopping = new AbortController();
    const { outcome } = await removing({
      command: IMAGES,
      signal: stopping.signal,
      prepare: (on) => {
        on.at = (step) => {
          if (step === `removeImage ${APP}`) stopping.abort();
        };
      },
    });
    expect(outcome).toMatchObject({ outcome: 'removed' });
  });

  test('is waited for by no judgement that is over', async () => {
    const { signal } = new AbortController();
    await removing({ command: IMAGES, signal });
    await expect(
      removing({ command: IMAGES, signal, prepare: failing('look', 'nobody foresaw this') }),
    ).rejects.toThrow();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('an object that an earlier process', () => {
  const items = (first: JournalEntry['items'][number]): Partial<JournalEntry> => ({
    before: { availableBytes: '990', inodesFree: null },
    items: [first, { state: 'waiting' }],
  });
  const inHand = items({ state: 'in-hand', since: instant() });

  test('was done with is left as it is', async () => {
    const { steps, outcome } = await removing({
      command: IMAGES,
      entry: items({ state: 'done', outcome: 'refused' }),
    });
    expect(steps).toEqual([]);
    expect(outcome).toBeUndefined();
  });

  test('saw removed is told as that, though it is listed again', async () => {
    const { steps, outcome, on, lastAction } = await removing({
      command: IMAGES,
      entry: items({ state: 'removed', durationMs: 70 }),
    });
    expect(steps).toEqual(['wrote removed, waiting']);
    expect(outcome).toEqual({ outcome: 'removed', measured: null, estimatedBytes: 10, durationMs: 70 });
    expect(on.runtime.images.has(APP)).toBe(true);
    expect(lastAction).toMatchObject({ at: on.clock.now() });
  });

  test('had in hand, and that is gone, was removed since', async () => {
    const { steps, outcome } = await removing({
      command: IMAGES,
      entry: inHand,
      prepare: ({ runtime, clock }) => {
        runtime.images.clear();
        clock.advance(250);
      },
    });
    expect(steps).toEqual(['look', 'wrote removed, waiting']);
    expect(outcome).toEqual({ outcome: 'removed', measured: null, estimatedBytes: 10, durationMs: 250 });
  });

  test('had in hand, and nobody can see what became of it, may be gone', async () => {
    const { steps, outcome, lastAction } = await removing({
      command: IMAGES,
      entry: inHand,
      prepare: (on) => {
        on.factsProblem = 'no socket';
      },
    });
    expect(steps).toEqual(['look', 'wrote failed, waiting']);
    expect(outcome).toMatchObject({
      outcome: 'failed',
      reason: 'deadline-exceeded',
      message: expect.stringContaining('the runtime does not list what it holds'),
    });
    expect(lastAction).not.toBeNull();
  });

  test.each([
    { name: 'over a reboot', since: instant({ bootId: BOOT_B }) },
    { name: 'from a moment to come', since: instant({ sinceBootMs: instant().sinceBootMs + 1_000 }) },
  ])('had in hand, and that is gone, took no time that anybody knows $name', async ({ since }) => {
    const { outcome } = await removing({
      command: CONTAINERS,
      entry: items({ state: 'in-hand', since }),
      prepare: ({ runtime, clock }) => {
        runtime.containers.clear();
        clock.advance(250);
      },
    });
    expect(outcome).toEqual({ outcome: 'removed', measured: null, estimatedBytes: null, durationMs: 0 });
  });

  test('[M31] had in hand, and that goes while it is judged, was removed by whichever process', async () => {
    const { outcome, lastAction, on } = await removing({
      command: IMAGES,
      entry: inHand,
      prepare: (made) => {
        let looks = 0;
        made.at = (step) => {
          if (step === 'look' && ++looks === 2) made.runtime.images.clear();
        };
        made.clock.advance(700);
      },
    });
    expect(outcome).toEqual({ outcome: 'removed', measured: null, estimatedBytes: 10, durationMs: 700 });
    expect(lastAction).toMatchObject({ at: on.clock.now() });
  });

  test('had in hand, and that this one fails to remove, is told by that failure', async () => {
    const { outcome } = await removing({
      command: IMAGES,
      entry: inHand,
      prepare: failing(`removeImage ${APP}`),
    });
    expect(outcome).toMatchObject({ outcome: 'failed', reason: 'runtime-error', message: 'device busy' });
  });

  test('had in hand, and that is there still, is judged and removed by this one', async () => {
    const { steps, outcome } = await removing({ command: IMAGES, entry: inHand });
    expect(steps.slice(0, 5)).toEqual([
      'look',
      'statfs',
      'look',
      'wrote in-hand, waiting',
      `removeImage ${APP}`,
    ]);
    expect(outcome).toMatchObject({ outcome: 'removed', measured: { beforeBytes: '990' } });
  });

  test.each([
    { name: 'its target is reached', given: { command: { ...IMAGES, reclaim: toTarget('990') } } },
    { name: 'this one is stopped', given: { command: IMAGES, signal: AbortSignal.abort() } },
    {
      name: 'this node keeps it',
      given: {
        command: IMAGES,
        plan: async () => ({
          reclaim: null,
          itemOf: () => ({ reason: 'kept-by-own-plan', message: 'too young' }) as const,
        }),
      },
    },
  ])('had in hand, and $name, may go all the same', async ({ given }) => {
    const { outcome, on } = await removing({ ...given, entry: inHand });
    expect(outcome).toMatchObject({
      outcome: 'failed',
      reason: 'deadline-exceeded',
      message: expect.stringMatching(
        /^it was being removed when an earlier process ended, and it is left alone now \(.+\): the runtime may have removed it, or may do so yet$/,
      ),
      backoffUntilMs: on.clock.now().wallTimeMs + 60_000,
    });
    expect(on.runtime.calls).toEqual([]);
  });

  test('[I3] had in hand in a log directory stays where it may not go: no runtime goes on with that', async () => {
    const refusal = { reason: 'kept-by-own-plan', message: 'its pod is there' } as const;
    const { outcome } = await removing({
      command: LOGS,
      entry: inHand,
      plan: async () => ({ reclaim: null, itemOf: () => refusal }),
    });
    expect(outcome).toEqual({ outcome: 'refused', ...refusal });
  });
});
