import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../faults/fault.ts';
import { beginFault } from '../faults/table.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Played } from './played.ts';
import type { Schedule } from './schedule.ts';

/** Lets everything of the schedule happen; resolves when all has ended. What a fault throws ends the others and the round. */
export async function play(
  fleet: Fleet,
  { faults, lastsMs }: Schedule,
  signal: AbortSignal,
): Promise<readonly Played[]> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const playing = faults.map(async (fault): Promise<Played> => {
    await sleep(fault.atMs, undefined, { signal: either });
    const fromMs = Date.now();
    await playOne(fleet, fault, either);
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

async function playOne(fleet: Fleet, fault: Fault, signal: AbortSignal): Promise<void> {
  const end = await beginFault(fleet, fault.kind, fault);
  try {
    await sleep(fault.forMs, undefined, { signal });
  } finally {
    await end();
  }
}
