import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Work, WorkQueue } from '../../../packages/kube-api/work-queue.ts';
import { runs } from '../../support/property-runs.ts';

function queueAt(mostKeys = 1_000) {
  const clock = { nowMs: 0 };
  const queue = new WorkQueue<number>({ nowMs: () => clock.nowMs, mostKeys });
  const take = (): Work<number> => queue.take() ?? { key: 'nothing', value: -1 };
  const keys = (): string[] => {
    const taken: string[] = [];
    for (let work = queue.take(); work !== null; work = queue.take()) taken.push(work.key);
    return taken;
  };
  return { queue, clock, take, keys };
}

test('[cluster F6] what is added is taken at once, first in first out', () => {
  const { queue, keys } = queueAt();
  for (const key of ['b', 'a', 'c']) queue.add(key, 1);
  expect(keys()).toEqual(['b', 'a', 'c']);
});

test('[cluster F7] an item that waits is there once, at its place, with its newest value', () => {
  const { queue, take } = queueAt();
  for (const [key, value] of [
    ['a', 1],
    ['b', 2],
    ['a', 3],
  ] as const)
    queue.add(key, value);
  expect([take(), take(), queue.take()]).toEqual([{ key: 'a', value: 3 }, { key: 'b', value: 2 }, null]);
});

test('[cluster F7] what comes for an item in hand is taken after it', () => {
  const { queue, take } = queueAt();
  queue.add('a', 1);
  take();
  queue.add('a', 2);
  queue.add('a', 3);
  expect(queue.take()).toBeNull();
  queue.done('a');
  expect(take()).toEqual({ key: 'a', value: 3 });
  queue.done('a');
  expect(queue.take()).toBeNull();
});

describe('what failed', () => {
  test('[cluster F4] waits by the limiter', () => {
    const { queue, clock, take } = queueAt();
    queue.add('a', 1);
    const work = take();
    queue.retry(work);
    queue.done('a');
    expect([queue.take(), queue.nextAtMs(), queue.failures('a')]).toEqual([null, 5, 1]);
    clock.nowMs = 5;
    expect(take()).toEqual({ key: 'a', value: 1 });
  });

  test('[cluster F7] has the newest value that came meanwhile, and is taken at once for it', () => {
    const { queue, clock, take } = queueAt();
    queue.add('a', 1);
    const work = take();
    queue.add('a', 2);
    queue.retry(work);
    queue.done('a');
    expect(take()).toEqual({ key: 'a', value: 2 });
    queue.done('a');
    clock.nowMs = 5;
    expect(take()).toEqual({ key: 'a', value: 2 });
  });

  test('[cluster F5] counts from zero once it was forgotten', () => {
    const { queue, take } = queueAt();
    queue.add('a', 1);
    queue.retry(take());
    queue.forget('a');
    expect(queue.failures('a')).toBe(0);
  });
});

describe('what is added for later', () => {
  const later = (queue: WorkQueue<number>, key: string, delayMs: number): void =>
    queue.addAfter({ key, value: 1 }, delayMs);

  test('[cluster F8] is there at once without a delay', () => {
    const { queue, keys } = queueAt();
    later(queue, 'a', 0);
    later(queue, 'b', -1);
    expect(keys()).toEqual(['a', 'b']);
  });

  test('[cluster F8] of two times for one item the earlier wins', () => {
    const { queue, clock, keys } = queueAt();
    later(queue, 'a', 50);
    later(queue, 'a', 20);
    later(queue, 'a', 80);
    clock.nowMs = 20;
    expect(keys()).toEqual(['a']);
    queue.done('a');
    clock.nowMs = 100;
    expect([keys(), queue.nextAtMs(), queue.waiting]).toEqual([[], null, 0]);
  });

  test('[cluster F8] comes in order of time, behind what waited before', () => {
    const { queue, clock, keys } = queueAt();
    later(queue, 'late', 30);
    later(queue, 'early', 10);
    queue.add('now', 1);
    clock.nowMs = 30;
    expect(keys()).toEqual(['now', 'early', 'late']);
  });
});

test('beyond the bound no further item is taken, while known ones still change', () => {
  const { queue, take } = queueAt(2);
  expect([queue.add('a', 1), queue.add('b', 1), queue.add('c', 1), queue.add('a', 9)]).toEqual([
    true,
    true,
    false,
    true,
  ]);
  expect(take()).toEqual({ key: 'a', value: 9 });
  expect(queue.add('c', 1)).toBe(true);
  expect(queue.add('a', 2)).toBe(true);
});

const Step = fc.record({
  what: fc.constantFrom('add' as const, 'take' as const, 'done' as const, 'retry' as const, 'pass' as const),
  key: fc.constantFrom('a', 'b', 'c'),
  ms: fc.integer({ min: 0, max: 30 }),
});

type Steps = (typeof Step extends fc.Arbitrary<infer Each> ? Each : never)[];

/** Plays the steps, and then works everything off. */
function play(steps: Steps) {
  const { queue, clock } = queueAt();
  const inHand = new Map<string, Work<number>>();
  const newest = new Map<string, number>();
  const seen = new Map<string, number>();
  const twice: string[] = [];
  const take = (): boolean => {
    const work = queue.take();
    if (work === null) return false;
    if (inHand.has(work.key)) twice.push(work.key);
    inHand.set(work.key, work);
    seen.set(work.key, work.value);
    return true;
  };
  const finish = (key: string, failed: boolean): void => {
    const work = inHand.get(key);
    if (work === undefined) return;
    if (failed) queue.retry(work);
    inHand.delete(key);
    queue.done(key);
  };
  const finishAll = (): void => [...inHand.keys()].forEach((key) => void finish(key, false));
  const doing = {
    add: ({ key }: Steps[number], index: number) => {
      newest.set(key, index);
      queue.add(key, index);
    },
    take: () => void take(),
    pass: ({ ms }: Steps[number]) => {
      clock.nowMs += ms;
    },
    done: ({ key }: Steps[number]) => finish(key, false),
    retry: ({ key }: Steps[number]) => finish(key, true),
  };
  for (const [index, step] of steps.entries()) doing[step.what](step, index);
  finishAll();
  clock.nowMs += 10_000_000;
  while (take()) finishAll();
  return { seen, newest, twice, left: [queue.waiting, queue.inHand, queue.nextAtMs()] };
}

test('[cluster F7, F8] however it is used: no item in two hands, and the newest value of each is taken at last', () => {
  fc.assert(
    fc.property(fc.array(Step, { maxLength: 60 }), (steps) => {
      const { seen, newest, twice, left } = play(steps);
      expect(seen).toEqual(newest);
      expect({ twice, left }).toEqual({ twice: [], left: [0, 0, null] });
    }),
    runs(2_000),
  );
});
