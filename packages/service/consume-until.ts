import { untilAborted } from '../process/loops.ts';
import type { Consumer } from '../records/consume.ts';

/**
 * Lets the consumers work until the signal aborts or one of them fails for good; then all finish what they have in hand
 * and leave their groups.
 */
export async function consumeUntil(signal: AbortSignal, consumers: readonly Consumer[]): Promise<void> {
  try {
    await Promise.race([untilAborted(signal), ...consumers.map(({ finished }) => finished)]);
  } finally {
    await Promise.allSettled(consumers.map((consumer) => consumer.stop()));
  }
}
