import { expect, test } from 'vitest';
import { WorkQueue, workOff } from '../../../packages/kube-api/work-queue.ts';
import { manualTime } from '../../support/manual-time.ts';

const turns = async (): Promise<void> => {
  for (let n = 0; n < 20; n++) await Promise.resolve();
};

function started(work: (value: string) => Promise<'done' | 'retry' | number>, workers = 2) {
  const time = manualTime(() => 0);
  const stop = new AbortController();
  const nowMs = (): number => time.now().sinceBootMs;
  const queue = new WorkQueue<string>({ nowMs, mostKeys: 100 });
  const ended = workOff(queue, {
    workers,
    work: ({ value }) => work(value),
    nowMs,
    sleep: time.sleep,
    signal: stop.signal,
  });
  return { time, stop, queue, ended };
}

test('so many are worked on at once, and the rest after them', async () => {
  const open: PromiseWithResolvers<'done'>[] = [];
  const begun: string[] = [];
  const { queue, stop, ended } = started((value) => {
    begun.push(value);
    const one = Promise.withResolvers<'done'>();
    open.push(one);
    return one.promise;
  });
  for (const key of ['a', 'b', 'c']) queue.add(key, key);
  await turns();
  expect(begun).toEqual(['a', 'b']);
  open[0]?.resolve('done');
  await turns();
  expect(begun).toEqual(['a', 'b', 'c']);
  stop.abort();
  for (const each of open) each.resolve('done');
  await ended;
  expect(queue.inHand).toBe(0);
});

test('[cluster F4, F5] what failed is tried again when its time has come, and is forgotten once done', async () => {
  const outcomes = ['retry', 'retry', 'done'] as const;
  const at: number[] = [];
  const { time, queue, stop, ended } = started(async () => {
    at.push(time.now().sinceBootMs);
    return outcomes[at.length - 1] ?? 'done';
  });
  const beganMs = time.now().sinceBootMs;
  queue.add('a', 'a');
  await turns();
  for (let ms = 0; ms < 20; ms++) {
    await time.pass(1, 1);
    await turns();
  }
  expect(at.map((ms) => ms - beganMs)).toEqual([0, 5, 15]);
  expect(queue.failures('a')).toBe(0);
  stop.abort();
  await ended;
});

test('what waits a while of its own counts no failure', async () => {
  let asked = 0;
  const { time, queue, stop, ended } = started(async () => (asked++ === 0 ? 2_000 : 'done'));
  queue.add('a', 'a');
  await turns();
  expect([asked, queue.failures('a')]).toEqual([1, 0]);
  await time.pass(2_000);
  await turns();
  expect(asked).toBe(2);
  stop.abort();
  await ended;
});

test('what nobody foresaw ends it with that error', async () => {
  const { queue, ended } = started(() => Promise.reject(new Error('a bug')));
  queue.add('a', 'a');
  await expect(ended).rejects.toThrow('a bug');
});

test('told to stop with nothing in hand, it ends, whatever waits', async () => {
  const { queue, stop, ended } = started(async () => 1_000_000);
  queue.add('a', 'a');
  await turns();
  stop.abort();
  await ended;
  expect(queue.waiting).toBe(1);
});
