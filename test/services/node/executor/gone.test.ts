import { describe, expect, test } from 'vitest';
import { imageUsage } from '../../../../packages/cri/usage.ts';
import type { RemovalFailure } from '../../../../schemas/events/result.ts';
import type { CommandItem } from '../../../../services/node/executor/checks.ts';
import type { FactsReading } from '../../../../services/node/executor/facts.ts';
import { openDirectory } from '../../../../services/node/executor/pod-logs.ts';
import { type Attempt, Remover } from '../../../../services/node/executor/remove.ts';
import { containerRemoval, imageRemoval, logRemoval } from '../../../fixtures/command.ts';
import { completeListing } from '../../../fixtures/listing.ts';
import { instant } from '../../../fixtures/time.ts';
import { fakeRuntime } from './support/fake-runtime.ts';
import { APP, dead, idle, image } from './support/looked.ts';

const listing = (over = {}): FactsReading => {
  const listed = completeListing(over);
  const facts = {
    listing: listed,
    usage: imageUsage(listed, []),
    history: { kind: 'known', file: null },
  } as const;
  return { ok: true, facts, confirmedAt: instant() };
};
const UNREADABLE: FactsReading = { ok: false, message: 'refused' };
const podLogs = { podLogsDir: '/nowhere/pods', containerLogsDir: '/nowhere/containers', openDirectory };

/** What is left of a failure where the runtime lists so, one reading after the other. */
async function later(
  attempt: Attempt,
  readings: readonly FactsReading[],
  [item] = containerRemoval(['dead']).items as readonly CommandItem[],
) {
  const slept: number[] = [];
  let count = 0;
  const remover = new Remover(
    fakeRuntime(),
    podLogs,
    async () => readings[Math.min(count++, readings.length - 1)] ?? UNREADABLE,
    async (ms) => void slept.push(ms),
  );
  if (item === undefined) throw new Error('a command has an item');
  const found = await remover.unlessGoneSoon(attempt, item, new AbortController().signal);
  return { found, looks: count, slept };
}

const failure = (reason: RemovalFailure, over = {}): Attempt => ({
  outcome: 'failed',
  reason,
  message: 'it failed',
  ...over,
});
const THERE = listing({ containers: [dead()] });
const GONE = listing({ containers: [dead({ id: 'other' })] });

describe('[M31] a container that could not be removed', () => {
  test('and is gone at once: somebody else removed it', async () => {
    expect(await later(failure('runtime-error'), [GONE])).toEqual({
      found: { outcome: 'not-found' },
      looks: 1,
      slept: [],
    });
  });

  test('and is gone a moment later: what was done to it before is told', async () => {
    const done = failure('stop-failed', { alreadyDone: ['logs-removed'] });
    expect(await later(done, [THERE, UNREADABLE, GONE])).toEqual({
      found: { outcome: 'not-found', alreadyDone: ['logs-removed'] },
      looks: 3,
      slept: [200, 200],
    });
  });

  test('in time, and is gone: it was removed', async () => {
    expect((await later(failure('deadline-exceeded'), [GONE])).found).toEqual({ outcome: 'removed' });
  });

  test('and stays there, has failed', async () => {
    expect(await later(failure('runtime-error'), [THERE])).toEqual({
      found: failure('runtime-error'),
      looks: 5,
      slept: [200, 200, 200, 200, 200],
    });
  });

  test.each(['log-removal-failed', 'still-listed'] as const)(
    'has failed for %s, wherever it is',
    async (reason) => {
      expect(await later(failure(reason), [GONE])).toEqual({ found: failure(reason), looks: 0, slept: [] });
    },
  );
});

test('[M31] a sandbox that could not be removed, and is gone at once: somebody else removed it', async () => {
  expect(await later(failure('stop-failed'), [GONE], containerRemoval(['sandbox-1']).items)).toEqual({
    found: { outcome: 'not-found' },
    looks: 1,
    slept: [],
  });
});

test.each([
  {
    name: 'a refusal',
    attempt: { outcome: 'refused', reason: 'running', message: 'it runs' } as const,
    items: containerRemoval(['dead']).items,
  },
  { name: 'an image', attempt: failure('runtime-error'), items: imageRemoval(['a']).items },
  { name: 'a log directory', attempt: failure('runtime-error'), items: logRemoval(['a_b_c']).items },
  { name: 'a log symlink', attempt: failure('runtime-error'), items: logRemoval(['a.log']).items },
])('$name is not looked at again', async ({ attempt, items }) => {
  expect(await later(attempt, [GONE], items)).toEqual({ found: attempt, looks: 0, slept: [] });
});

test('an object is gone that its own list lacks; nobody knows while that cannot be read', async () => {
  const everything = listing({ images: [image()], containers: [dead()], sandboxes: [idle()] });
  const items = [
    ...imageRemoval([APP]).items,
    ...containerRemoval(['dead', 'sandbox-1']).items,
    ...logRemoval(['a_b_c', 'a.log']).items,
  ];
  const seen = (reading: FactsReading) => {
    const remover = new Remover(
      fakeRuntime(),
      podLogs,
      async () => reading,
      async () => undefined,
    );
    return Promise.all(items.map((item) => remover.isGone(item)));
  };
  expect(await seen(everything)).toEqual([false, false, false, true, true]);
  expect(await seen(listing())).toEqual([true, true, true, true, true]);
  expect(await seen(UNREADABLE)).toEqual([null, null, null, true, true]);
});
