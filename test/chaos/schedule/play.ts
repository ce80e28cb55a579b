import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault, FaultKind } from '../faults/fault.ts';
import { FAULTS } from '../faults/table.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Schedule } from './schedule.ts';

/** A fault as it was: `toMs` is when its end was over. */
export interface Played {
  readonly fault: Fault;
  readonly fromMs: number;
  toMs: number;
}

/** Lets everything of the schedule happen; resolves when all has ended. What a fault throws fails the round. */
export async function play(fleet: Fleet, { faults, lastsMs }: Schedule): Promise<readonly Played[]> {
  const beganMs = Date.now();
  const playing = faults.map(async (fault): Promise<Played> => {
    await sleep(fault.atMs);
    const fromMs = Date.now();
    await playOne(fleet, fault);
    return { fault, fromMs, toMs: Date.now() };
  });
  const played = await Promise.all(playing);
  await sleep(Math.max(0, beganMs + lastsMs - Date.now()));
  return played;
}

async function playOne<Kind extends FaultKind>(
  fleet: Fleet,
  fault: Extract<Fault, { readonly kind: Kind }>,
): Promise<void> {
  const end = await FAULTS[fault.kind as Kind].begin(fleet, fault);
  await sleep(fault.forMs);
  await end();
}
