import type { Random } from '../../../sim/workload/random.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { AMID_ROWS } from './amid-rows.ts';
import { BROKER_ROWS } from './broker-rows.ts';
import { Fault, type FaultKind, type FaultOf } from './fault.ts';
import { KEY_ROWS } from './key-rows.ts';
import { MESSAGE_ROWS } from './message-rows.ts';
import { NODE_ROWS } from './node-rows.ts';
import { PROCESS_ROWS } from './process-rows.ts';
import type { End, FaultRow, RowsOf } from './row.ts';

/** Everything that may go wrong. Whoever adds a kind of fault is led here by the compiler. */
export const FAULTS: RowsOf<FaultKind> = {
  ...PROCESS_ROWS,
  ...BROKER_ROWS,
  ...MESSAGE_ROWS,
  ...NODE_ROWS,
  ...AMID_ROWS,
  ...KEY_ROWS,
};

/** Makes a fault up. */
export const drawFault = (random: Random, kind: FaultKind, atMs: number): Fault =>
  Fault.parse({ ...FAULTS[kind].draw(random), kind, atMs });

/** Resolves to what ends it. */
export async function beginFault<Kind extends FaultKind>(
  fleet: Fleet,
  kind: Kind,
  fault: FaultOf<Kind>,
): Promise<End> {
  const row: FaultRow<Kind> = FAULTS[kind];
  return row.begin(fleet, fault);
}
