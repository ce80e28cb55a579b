import { describe, expect, test } from 'vitest';
import type { Command } from '../../../../schemas/events/command.ts';
import type { ObjectRefusal } from '../../../../schemas/events/result.ts';
import type { Executor } from '../../../../services/node/executor/executor.ts';
import { Judge, type Stays } from '../../../../services/node/executor/judge.ts';
import { removalsInLastHour } from '../../../../services/node/executor/local-rules.ts';
import { openDirectory } from '../../../../services/node/executor/pod-logs.ts';
import { type Attempt, Remover } from '../../../../services/node/executor/remove.ts';
import { containerRemoval, imageRemoval, logRemoval } from '../../../fixtures/command.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { toTarget } from '../../../fixtures/reclaim.ts';
import { NOW } from '../../../fixtures/time.ts';
import { parsedLines } from '../../../support/log-lines.ts';
import { APP, image } from './support/looked.ts';
import { accept, outcomes, type RemovalNode, removalNode } from './support/removal-node.ts';

const IMAGES = imageRemoval([APP, 'sha256:other']);
const CONTAINERS = containerRemoval(['dead']);
const LOGS = logRemoval(['default_web_pod-1', 'web_default_app-0123.log']);
/** Short of it, as long as the disk has 500 bytes available of 1000. */
const SHORT = toTarget('900');

const failure: Attempt = { outcome: 'failed', reason: 'runtime-error', message: 'device busy' };
const refusal = (reason: ObjectRefusal, over: Partial<Extract<Attempt, { outcome: 'refused' }>> = {}) =>
  ({ outcome: 'refused', reason, message: 'as the test wants it', ...over }) as const;

interface Given {
  readonly command: Command;
  readonly attempt: Attempt;
  /** Which object of the command; the first when not given. */
  readonly index?: number;
  /** What the disk has available after the attempt, of 1000 bytes; before it 500, or what cannot be read. */
  readonly available?: bigint;
  readonly isUnreadBefore?: boolean;
  /** Called at each step after the attempt. */
  readonly at?: (step: string) => void;
  readonly stopping?: AbortController;
  readonly node?: RemovalNode;
}

const nobodyAsks = () => Promise.reject(new Error('nobody asks'));
const podLogs = { podLogsDir: '/nowhere', containerLogsDir: '/nowhere', openDirectory };

/** What is recorded of an attempt that took 3 s. */
async function recording(given: Given) {
  const { attempt, available = 500n, isUnreadBefore = false, at, node = removalNode() } = given;
  const stopping = given.stopping ?? new AbortController();
  let endedAt = node.clock.now();
  const end = (): void => {
    node.clock.advance(3_000);
    node.runtime.otherBytes = 1_000n - available;
    node.runtime.filesystemReadings = (availableBytes) =>
      filesystems({ availableBytes: String(availableBytes) });
    node.steps.length = 0;
    if (at) node.at = at;
    if (given.stopping) stopping.abort();
    endedAt = node.clock.now();
  };
  class Attempting extends Remover {
    override async remove(): Promise<Attempt> {
      end();
      return attempt;
    }
    override async unlessGoneSoon(): Promise<Attempt> {
      return attempt;
    }
  }
  class Letting extends Judge {
    override async judge() {
      const reading = await node.readFacts();
      if (!reading.ok) throw new Error(reading.message);
      return { outcome: 'may-go', object: { kind: 'image', image: image() }, reading } as const;
    }
  }
  node.runtime.otherBytes = 500n;
  if (isUnreadBefore) node.runtime.filesystemReadings = () => filesystems({ availableBytes: null });
  const executor = node.executorWith({
    judge: new Letting({
      clock: node.clock,
      readFacts: nobodyAsks,
      podsNow: null,
      restrictions: nobodyAsks,
      podLogs,
    }),
    remover: new Attempting(node.runtime, podLogs, nobodyAsks, nobodyAsks),
  });
  const found = await removed(executor, given, node, stopping.signal);
  return { ...found, endedAt };
}

/** What is recorded where the object is not even taken in hand. */
async function staying({ stays, ...given }: Omit<Given, 'attempt'> & { readonly stays: Stays }) {
  const { node = removalNode() } = given;
  class Keeping extends Judge {
    override async judge() {
      return stays;
    }
  }
  const executor = node.executorWith({
    judge: new Keeping({
      clock: node.clock,
      readFacts: nobodyAsks,
      podsNow: null,
      restrictions: nobodyAsks,
      podLogs,
    }),
  });
  return removed(executor, given, node, new AbortController().signal);
}

async function removed(
  executor: Executor,
  { command, index = 0 }: Pick<Given, 'command' | 'index'>,
  node: RemovalNode,
  signal: AbortSignal,
) {
  const item = command.items[index];
  if (item === undefined) throw new Error('the command has that item');
  const entry = accept(node, command);
  await executor.removeObject(
    { entry, index, item, plan: async () => ({ reclaim: null, itemOf: () => item }) },
    signal,
  );
  const { lastActions, removalRate } = node.journal.state();
  return {
    node,
    steps: node.steps,
    outcome: outcomes(node)[item.id],
    lastAction: lastActions[item.kind],
    removals: removalsInLastHour(removalRate, node.clock.now()),
    backoff: node.backoff.entries().map(({ id, untilMs }) => [id, untilMs]),
    lines: parsedLines(node.logLines),
  };
}

describe('an object that was removed', () => {
  test('[D14, M7] is in the journal before the disk is read, and told with what came free', async () => {
    const found = await recording({ command: IMAGES, attempt: { outcome: 'removed' }, available: 600n });
    expect(found.steps).toEqual(['wrote removed, waiting', 'statfs', 'wrote removed, waiting']);
    expect(found.outcome).toEqual({
      outcome: 'removed',
      measured: { filesystem: 'imagefs', beforeBytes: '500', afterBytes: '600' },
      estimatedBytes: 10,
      durationMs: 3_000,
    });
    expect(found.lines).toMatchObject([
      { msg: 'object done', id: APP, name: 'registry.example/team/app:1', outcome: 'removed' },
    ]);
  });

  test('whose process dies before it is told is known to have gone, and how long that took', async () => {
    const node = removalNode();
    const at = (step: string): void => {
      if (step === 'statfs') throw new Error('the process dies here');
    };
    const command = imageRemoval(['sha256:other', APP]);
    await expect(
      recording({ command, attempt: { outcome: 'removed' }, index: 1, node, at }),
    ).rejects.toThrow();
    const [entry] = node.journal.state().entries;
    expect(entry?.items).toEqual([{ state: 'waiting' }, { state: 'removed', durationMs: 3_000 }]);
  });

  test('counts as an action at its end, as a removal of the hour, and with its seconds', async () => {
    const { node, endedAt, lastAction, removals } = await recording({
      command: IMAGES,
      attempt: { outcome: 'removed' },
    });
    expect(lastAction).toEqual({ at: endedAt, commandId: 'command-1' });
    expect(removals).toBe(1);
    expect(node.removalSeconds).toEqual([['image', 3]]);
  });

  test('whose disk could not be read before is told without a measurement', async () => {
    const { outcome } = await recording({
      command: IMAGES,
      attempt: { outcome: 'removed' },
      isUnreadBefore: true,
    });
    expect(outcome).toMatchObject({ outcome: 'removed', measured: null });
  });

  test('and is no image is counted with no bytes', async () => {
    const { outcome, node } = await recording({ command: CONTAINERS, attempt: { outcome: 'removed' } });
    expect(outcome).toMatchObject({ outcome: 'removed', estimatedBytes: null });
    expect(node.removalSeconds).toEqual([['container', 3]]);
  });
});

describe('[M7] the space of an object is waited for', () => {
  const waited = ({ steps }: { readonly steps: readonly string[] }): number =>
    steps.filter((step) => step === 'sleep 50').length;

  test('for two seconds, where it is an image and the target is not reached', async () => {
    const command = { ...IMAGES, reclaim: SHORT };
    expect(waited(await recording({ command, attempt: { outcome: 'removed' } }))).toBe(40);
    expect(waited(await recording({ command, attempt: { outcome: 'not-found' } }))).toBe(40);
    expect(waited(await recording({ command, attempt: { outcome: 'removed' }, available: 900n }))).toBe(0);
  });

  test('until it grows by more than a hundredth of what the image is counted with', async () => {
    const [first] = imageRemoval([APP]).items;
    if (first === undefined) throw new Error('a command has an item');
    const item = { ...first, estimatedBytes: 10_000 };
    const settling = (available: bigint) =>
      recording({
        command: { ...IMAGES, items: [item], reclaim: SHORT },
        attempt: { outcome: 'removed' },
        available,
      });
    expect(waited(await settling(600n))).toBe(40);
    expect(waited(await settling(601n))).toBe(1);
  });

  test('not where nobody wants a target, and not where it failed: it is not expected to come', async () => {
    expect(waited(await recording({ command: IMAGES, attempt: { outcome: 'removed' } }))).toBe(0);
    expect(waited(await recording({ command: { ...IMAGES, reclaim: SHORT }, attempt: failure }))).toBe(0);
  });

  test('not of a container: the end of its command waits for all of them together', async () => {
    const command = { ...CONTAINERS, reclaim: { ...SHORT, step: 'containers' } as const };
    expect(waited(await recording({ command, attempt: { outcome: 'removed' } }))).toBe(0);
  });

  test('not once the executor is stopped', async () => {
    const command = { ...IMAGES, reclaim: SHORT };
    const stopping = new AbortController();
    expect(waited(await recording({ command, attempt: { outcome: 'removed' }, stopping }))).toBe(0);
  });
});

describe('an object that failed to go', () => {
  test('[M33] waits a minute from then on, and is told so', async () => {
    const { outcome, backoff, steps, endedAt } = await recording({ command: IMAGES, attempt: failure });
    const until = endedAt.wallTimeMs + 60_000;
    expect(outcome).toEqual({ ...failure, backoffUntilMs: until });
    expect(backoff).toEqual([[APP, until]]);
    expect(steps.filter((step) => step.startsWith('wrote'))).toEqual(['wrote failed, waiting']);
  });

  test('may have gone all the same, or half of it: it counts as an action', async () => {
    const { lastAction, removals, endedAt, node } = await recording({
      command: CONTAINERS,
      attempt: failure,
    });
    expect(lastAction).toEqual({ at: endedAt, commandId: 'command-1' });
    expect(removals).toBe(1);
    expect(node.removalSeconds).toEqual([]);
  });
});

describe('an object that was refused', () => {
  test.each(['kept-by-node', 'not-ours', 'unsafe-log-path', 'in-use-outside-cri'] as const)(
    '[M33] for %s waits as if it had failed: only people can end that, and it would fill every plan',
    async (reason) => {
      const { outcome, backoff, endedAt } = await recording({ command: IMAGES, attempt: refusal(reason) });
      expect(outcome).toEqual(refusal(reason));
      expect(backoff).toEqual([[APP, endedAt.wallTimeMs + 60_000]]);
    },
  );

  test.each(['running', 'in-use', 'paused', 'kept-by-own-plan'] as const)(
    'for %s does not wait, as the next decision sees that itself',
    async (reason) => {
      const { outcome, backoff } = await recording({ command: IMAGES, attempt: refusal(reason) });
      expect(outcome).toEqual(refusal(reason));
      expect(backoff).toEqual([]);
    },
  );

  test('was not touched: the disk is not read for it, and it is no action', async () => {
    const { steps, lastAction, removals } = await recording({
      command: CONTAINERS,
      attempt: refusal('running'),
    });
    expect(steps).toEqual(['wrote refused']);
    expect(lastAction).toBeNull();
    expect(removals).toBe(0);
  });

  test('[G15, G19] after something of it went was touched', async () => {
    const attempt = refusal('running', { alreadyDone: ['logs-removed'] });
    const { outcome, lastAction, endedAt } = await recording({ command: CONTAINERS, attempt });
    expect(outcome).toEqual(attempt);
    expect(lastAction).toMatchObject({ at: endedAt });
  });
});

test('[M33] an object that was not even taken in hand waits for the same refusals, and for no others', async () => {
  const kept = await staying({ command: IMAGES, stays: refusal('kept-by-node') });
  expect(kept.backoff).toEqual([[APP, kept.node.clock.now().wallTimeMs + 60_000]]);
  expect((await staying({ command: IMAGES, stays: refusal('in-use') })).backoff).toEqual([]);
});

describe('[M31] an object that is gone', () => {
  test('is told as that, and is an action where the runtime was asked for it: nobody knows who removed it', async () => {
    const { outcome, lastAction, endedAt } = await recording({
      command: IMAGES,
      attempt: { outcome: 'not-found' },
    });
    expect(outcome).toEqual({ outcome: 'not-found' });
    expect(lastAction).toMatchObject({ at: endedAt });
  });

  test('is no action where the runtime was not asked for it', async () => {
    const { outcome, lastAction, steps } = await staying({
      command: IMAGES,
      stays: { outcome: 'not-found' },
    });
    expect(outcome).toEqual({ outcome: 'not-found' });
    expect(lastAction).toBeNull();
    expect(steps).toEqual(['statfs', 'wrote not-found, waiting']);
  });

  test.each([0, 1])(
    'is no action where it is entry %i of a log directory, which this process looks at itself',
    async (index) => {
      const { lastAction } = await recording({ command: LOGS, index, attempt: { outcome: 'not-found' } });
      expect(lastAction).toBeNull();
    },
  );
});

test.each<Attempt>([{ outcome: 'removed' }, { outcome: 'not-found' }])(
  '[M33] an object that failed before and is $outcome now starts afresh when it comes back',
  async (attempt) => {
    const node = removalNode();
    const { backoff } = node;
    backoff.failed({ kind: 'image', id: APP }, NOW - 120_000);
    backoff.failed({ kind: 'image', id: 'another' }, NOW);
    expect((await recording({ command: IMAGES, attempt, node })).backoff).toEqual([
      ['another', NOW + 60_000],
    ]);
  },
);

test.each<Attempt>([failure, refusal('running')])(
  '[M33] an object that failed before and is $outcome now is not forgotten',
  async (attempt) => {
    const node = removalNode();
    node.backoff.failed({ kind: 'image', id: APP }, NOW - 120_000);
    const { backoff } = await recording({ command: IMAGES, attempt, node });
    expect(backoff).toMatchObject([[APP, expect.anything()]]);
  },
);
