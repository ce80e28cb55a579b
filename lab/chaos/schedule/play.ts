import { setTimeout as sleep } from 'node:timers/promises';
import type { End } from '../faults/row.ts';
import type { Played } from './played.ts';

interface Timed {
  readonly atMs: number;
  readonly forMs: number;
}

interface ToPlay<F> {
  readonly faults: readonly F[];
  readonly lastsMs: number;
}

/** Resolves to what ends it. */
type Begin<F> = (fault: F) => Promise<End>;

/** Lets everything of the schedule happen; resolves when all has ended. What a fault throws ends the others and the round. */
export async function play<F extends Timed>(
  { faults, lastsMs }: ToPlay<F>,
  begin: Begin<F>,
  signal: AbortSignal,
): Promise<readonly Played<F>[]> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const playing = faults.map(async (fault): Promise<Played<F>> => {
    await sleep(fault.atMs, undefined, { signal: either });
    const fromMs = Date.now();
    await playOne(fault, begin, either);
    return { fault, fromMs, toMs: Date.now() };
  });
  try {
    const [played] = await Promise.all([Promise.all(playing), sleep(lastsMs, undefined, { signal: either })]);
    return played;
  } finally {
    failed.abort();
    await Promise.allSettled(playing);
  }
}

async function playOne<F extends Timed>(fault: F, begin: Begin<F>, signal: AbortSignal): Promise<void> {
  const end = await begin(fault);
  try {
    await sleep(fault.forMs, undefined, { signal });
  } finally {
    await end();
  }
}
