import type { Fault } from '../faults/fault.ts';

/** A fault as it was: `toMs` is when its end was over. */
export interface Played<F = Fault> {
  readonly fault: F;
  readonly fromMs: number;
  readonly toMs: number;
}
