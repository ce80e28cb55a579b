import type { OwnershipCandidate, OwnershipReference } from '../../../../schemas/events/ownership.ts';
import type { Confirmation } from './outcome.ts';
import type { OwnershipSettings } from './settings.ts';

/** The references of a candidate, by what they do to it. */
export interface Owners {
  readonly orphaning: readonly OwnershipReference[];
  /** They hold the object: one of them is enough (cluster D10). */
  readonly solid: readonly OwnershipReference[];
  readonly waiting: readonly OwnershipReference[];
  /** Said to be absent. */
  readonly dangling: readonly OwnershipReference[];
  /** Of those that dangle: owners that went so that their dependents stay (cluster S6). */
  readonly orphaned: readonly OwnershipReference[];
  readonly elsewhere: readonly OwnershipReference[];
}

/** In profile `fleetgc` a reference that describes another object than its uid has holds the object (cluster S4). */
export function ownersOf({ references }: OwnershipCandidate, { profile }: OwnershipSettings): Owners {
  const isFleetgc = profile === 'fleetgc';
  const of = (...states: OwnershipReference['state'][]) =>
    references.filter(({ state }) => states.includes(state));
  const dangling = of('gone', 'unseen', 'unlisted', ...(isFleetgc ? [] : (['elsewhere'] as const)));
  return {
    orphaning: of('orphaning'),
    solid: of('held', ...(isFleetgc ? (['elsewhere'] as const) : [])),
    waiting: of('waiting'),
    dangling,
    orphaned: isFleetgc ? dangling.filter(({ gone }) => gone?.orphaned === true) : [],
    elsewhere: of('elsewhere'),
  };
}

export const confirmations = ({
  dangling,
  waiting,
}: Pick<Owners, 'dangling' | 'waiting'>): readonly Confirmation[] => [
  ...dangling.map((owner) => ({ owner, is: 'absent' as const })),
  ...waiting.map((owner) => ({ owner, is: 'waiting' as const })),
];

export const uidsOf = (references: readonly OwnershipReference[]): string[] => [
  ...new Set(references.map(({ uid }) => uid)),
];
