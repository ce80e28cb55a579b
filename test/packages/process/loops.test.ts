import { expect, test } from 'vitest';
import { pause } from '../../../packages/process/backoff.ts';
import { createWakeSignal, runEvery, runTogether } from '../../../packages/process/loops.ts';
import { leftAt } from '../../support/left-at-signal.ts';

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

test('a wait ends with its signal, and leaves nothing behind at one that outlives it', async () => {
  const stopping = new AbortController();
  const signal = createWakeSignal(pause);
  for (let wait = 0; wait < 50; wait += 1) {
    const waiting = signal.wait(60_000, stopping.signal);
    signal.wake();
    await waiting;
  }
  expect(leftAt(stopping.signal)).toBe(0);
  const last = signal.wait(60_000, stopping.signal);
  stopping.abort();
  await last;
  await signal.wait(60_000, stopping.signal);
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

test('loops that ran together leave nothing at a signal that outlives them', async () => {
  const stopping = new AbortController();
  const listen = (signal: AbortSignal): void => signal.addEventListener('abort', () => undefined);
  const failing = async (signal: AbortSignal): Promise<void> => {
    listen(signal);
    throw new TypeError('bug');
  };
  await runTogether([async (signal) => listen(signal)], stopping.signal);
  await runTogether([failing], stopping.signal).catch(() => undefined);
  expect(leftAt(stopping.signal)).toBe(0);
});
