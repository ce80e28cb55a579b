import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** What computes alone is done after a few turns of the event loop; what waits for a socket or a file takes longer. */
const TURNS = 20;

/**
 * When to look again whether somebody has finished, for the so many-th time: soon, but without keeping the processor
 * from those who are waited for.
 */
export async function nextLook(count: number): Promise<void> {
  if (count < TURNS) await nextTurn();
  else await sleep(1);
}
