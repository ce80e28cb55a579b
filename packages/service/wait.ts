import type { Consumer } from '../pipeline/consume.ts';

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve(), { once: true });
  if (signal.aborted) resolve();
  return promise;
}

/**
 * Lets the consumers work until the signal aborts or one of them fails for good; then all finish what they have in hand
 * and leave their groups.
 */
export async function consumeUntil(signal: AbortSignal, consumers: readonly Consumer[]): Promise<void> {
  try {
    await Promise.race([aborted(signal), ...consumers.map(({ finished }) => finished)]);
  } finally {
    await Promise.allSettled(consumers.map((consumer) => consumer.stop()));
  }
}
