import { setTimeout } from 'node:timers/promises';

/** Waits; ends early, without error, when `signal` aborts. Injected, so that tests wait for nothing. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>;

export const sleep: Sleep = async (ms, signal) => {
  await setTimeout(ms, undefined, signal && { signal }).catch(() => undefined);
};

/** What `work` resolves to, or `undefined` when `signal` aborts first; `work` must not reject and has no effect then. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const stop = (): void => resolve(undefined);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
