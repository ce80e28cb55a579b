import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SILENCE_MS, untilSilent } from '../../../../packages/log/kafka/client/watchdog.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function listen() {
  const stop = new AbortController();
  const silence = untilSilent('node-7', stop.signal);
  let end = 'none';
  silence.settled.then(
    () => {
      end = 'stopped';
    },
    ({ code }: { readonly code: string }) => {
      end = code;
    },
  );
  return { stop, silence, ended: () => end };
}

test('a reader that hears nothing for two minutes, not even that there is nothing new, starts anew', async () => {
  const { ended } = listen();
  await vi.advanceTimersByTimeAsync(SILENCE_MS - 1);
  expect(ended()).toBe('none');
  await vi.advanceTimersByTimeAsync(1);
  expect(ended()).toBe('GROUP_LOST');
});

test('each answer of a broker gives it another two minutes', async () => {
  const { silence, ended } = listen();
  for (let answers = 0; answers < 3; answers += 1) {
    await vi.advanceTimersByTimeAsync(SILENCE_MS - 1);
    silence.alive();
  }
  expect(ended()).toBe('none');
  await vi.advanceTimersByTimeAsync(SILENCE_MS);
  expect(ended()).toBe('GROUP_LOST');
});

test('a stop ends the watch, also one that came before it', async () => {
  const { stop, ended } = listen();
  stop.abort();
  await vi.advanceTimersByTimeAsync(0);
  expect(ended()).toBe('stopped');
  expect(vi.getTimerCount()).toBe(0);
  await expect(untilSilent('node-7', AbortSignal.abort()).settled).resolves.toBeUndefined();
});
