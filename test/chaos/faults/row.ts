import type { Random } from '../../../sim/workload/random.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { FaultKind, FaultOf } from './fault.ts';

type Drawn<Kind extends FaultKind> = Omit<FaultOf<Kind>, 'atMs' | 'kind'>;
export type End = () => Promise<void> | void;

/** How a fault is made up, and what it does to a fleet. */
export interface FaultRow<Kind extends FaultKind> {
  /** How often it comes, beside the others. */
  readonly weight: number;
  readonly draw: (random: Random) => Drawn<Kind>;
  /** Resolves to what ends it; the player calls that after `forMs`. */
  readonly begin: (fleet: Fleet, fault: FaultOf<Kind>) => Promise<End> | End;
}

export type RowsOf<Kinds extends FaultKind> = { readonly [Kind in Kinds]: FaultRow<Kind> };

export const one = <T>(random: Random, items: readonly T[]): T => {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new RangeError('there is nothing to choose from');
  return item;
};

export const between = (random: Random, least: number, most: number): number =>
  Math.round(least + random() * (most - least));

/** What wants a removal makes one needed; returns what ends that. */
export function press(fleet: Fleet, node: string): () => void {
  fleet.node(node).tell({ kind: 'press' });
  return () => fleet.node(node).tell({ kind: 'relax' });
}

/** Of what ends by itself. */
export const nothing = async (): Promise<void> => undefined;
