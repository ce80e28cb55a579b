import type { Random } from '../../sim/random.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { CommonFault } from './common.ts';
import type { FaultKind, FaultOf } from './fault.ts';

export type End = () => Promise<void> | void;

interface AnyFault {
  readonly kind: string;
  readonly atMs: number;
  readonly forMs: number;
}

/** How a fault is made up, and what it does to a fleet. */
export interface Row<On, Fault extends AnyFault> {
  /** How often it comes, beside the others. */
  readonly weight: number;
  readonly draw: (random: Random) => Omit<Fault, 'atMs' | 'kind'>;
  /** Resolves to what ends it; the player calls that after `forMs`. */
  readonly begin: (on: On, fault: Fault) => Promise<End> | End;
}

/** A row for each of these kinds among the faults. */
export type Rows<On, Fault extends AnyFault, Kinds extends Fault['kind'] = Fault['kind']> = {
  readonly [Kind in Kinds]: Row<On, Extract<Fault, { readonly kind: Kind }>>;
};

export type FaultRow<Kind extends FaultKind> = Row<Fleet, FaultOf<Kind>>;
export type RowsOf<Kinds extends FaultKind> = { readonly [Kind in Kinds]: FaultRow<Kind> };

/** Of faults of every kind of round, on what such a round is played. */
export type CommonRowsOf<On, Kinds extends CommonFault['kind']> = Rows<On, CommonFault, Kinds>;

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
