import type { Random } from '../../sim/random.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { NODES_SHAPE } from '../fleet/shape.ts';
import { AMID_ROWS } from './amid-rows.ts';
import { brokerRows } from './broker-rows.ts';
import { Fault, type FaultKind, type FaultOf } from './fault.ts';
import { DECIDER_KEY_ROWS, KEY_ROWS } from './key-rows.ts';
import { FORGE_ROWS, repeatRows } from './message-rows.ts';
import { NODE_ROWS } from './node-rows.ts';
import { pauseRows } from './pause-rows.ts';
import { processRows } from './process-rows.ts';
import { type End, type FaultRow, press, type RowsOf } from './row.ts';

const pressOf = (fleet: Fleet, part: string): (() => void) =>
  part.includes('/') ? press(fleet, part.slice(0, part.indexOf('/'))) : () => undefined;

/** Everything that may go wrong with nodes. Whoever adds a kind of fault is led here by the compiler. */
export const FAULTS: RowsOf<FaultKind> = {
  ...processRows(NODES_SHAPE, pressOf),
  ...brokerRows(NODES_SHAPE),
  ...repeatRows(NODES_SHAPE),
  ...pauseRows(NODES_SHAPE),
  ...FORGE_ROWS,
  ...NODE_ROWS,
  ...AMID_ROWS,
  ...KEY_ROWS,
  ...DECIDER_KEY_ROWS,
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
