import { expect, test } from 'vitest';
import { pause } from '../../../packages/process/backoff.ts';
import { createWakeSignal, runEvery, runTogether } from '../../../packages/process/loops.ts';

const never = new AbortController().signal;

test('a wake signal that was given before anybody waited ends the next wait, and only that', async () => {
  const signal = createWakeSignal(pause);
  signal.wake();
  signal.wake();
  await signal.wait(60_000, never);
  const second = signal.wait(60_000, never);
  signal.wake();
  await second;
});

test('loops end together: when told to, or all when one fails, with its error', async () => {
  const ended: string[] = [];
  const loop = (name: string) => async (signal: AbortSignal) => {
    await runEvery(1, () => undefined, { sleep: pause, signal });
    ended.push(name);
  };
  const stop = new AbortController();
  const running = runTogether([loop('a'), loop('b')], stop.signal);
  stop.abort();
  await running;
  await expect(runTogether([loop('c'), () => Promise.reject(new TypeError('bug'))], never)).rejects.toThrow(
    'bug',
  );
  expect(ended.toSorted()).toEqual(['a', 'b', 'c']);
});
