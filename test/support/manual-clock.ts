import type { NodeClock } from '../../packages/machine/clock.ts';
import type { Instant } from '../../schemas/events/time.ts';
import { instant } from '../fixtures/time.ts';

export const BOOT_A = instant().bootId;
export const BOOT_B = '22222222-2222-4222-8222-222222222222';
/** No two boots of a machine have the same id, however many there were. */
export const nthBoot = (number: number): string =>
  `33333333-3333-4333-8333-${String(number).padStart(12, '0')}`;

/** A node's clock that a test moves by hand. */
export interface ManualClock extends NodeClock {
  /** Time passes, on both clocks. */
  advance(ms: number): void;
  /** Someone or something sets the wall clock; time since boot does not notice. */
  stepWall(ms: number): void;
  /** The machine goes down for `downMs` and comes up with another boot id. */
  reboot(bootId: string, downMs: number): void;
}

export function manualClock(start: Partial<Instant> = {}): ManualClock {
  let now = instant(start);
  const shift = (wallMs: number, bootMs: number): void => {
    now = { ...now, wallTimeMs: now.wallTimeMs + wallMs, sinceBootMs: now.sinceBootMs + bootMs };
  };
  return {
    now: () => now,
    advance: (ms) => shift(ms, ms),
    stepWall: (ms) => shift(ms, 0),
    reboot: (bootId, downMs) => {
      now = { wallTimeMs: now.wallTimeMs + downMs, bootId, sinceBootMs: 0 };
    },
  };
}
