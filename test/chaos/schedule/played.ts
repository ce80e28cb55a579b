import type { Fault } from '../faults/fault.ts';

/** A fault as it was: `toMs` is when its end was over. */
export interface Played {
  readonly fault: Fault;
  readonly fromMs: number;
  readonly toMs: number;
}
