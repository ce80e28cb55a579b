import { type History, stepsOf } from '../history/history.ts';
import type { Ended } from '../phase.ts';
import { type Difference, differences } from './differences.ts';
import { stateText } from './state.ts';

/**
 * `kcm-differs`: its own runs ended differently, so that there is nothing to compare with. `different`: its runs agree, and ours is
 * another. `listed`: it is so in just those objects for which it is meant to be, and in all of them. `known`: in none but those of
 * which somebody found out why.
 */
export type Verdict = 'equal' | 'kcm-differs' | 'listed' | 'known' | 'different';

/** How a seed ended with each collector, and with none. */
export interface SeedEndings {
  readonly kcm: readonly Ended[];
  readonly fleetgc: readonly Ended[];
  readonly none: Ended;
}

export interface SeedOutcome {
  readonly seed: number;
  readonly isWild: boolean;
  readonly verdict: Verdict;
  /** Whether it ended differently than without any collector. */
  readonly isEffective: boolean;
  readonly objects: number;
  /** Of them, what was left in the first run of each. */
  readonly survivors: { readonly kcm: number; readonly fleetgc: number; readonly none: number };
  /** How each other ending differs from that of kube-controller-manager's first run. */
  readonly differences: readonly Difference[];
  /** What a collector stalled at, by side. */
  readonly stalled: Readonly<Record<string, readonly string[]>>;
  /** Whether ours ended as one of the runs of kube-controller-manager did. */
  readonly isOneOfKcms: boolean;
}

const texts = (endings: readonly Ended[]): ReadonlySet<string> =>
  new Set(endings.map(({ state }) => stateText(state)));

/** Whether ours ended as none of its runs did, which may be chance. */
export const isDoubtful = ({ kcm, fleetgc }: Pick<SeedEndings, 'kcm' | 'fleetgc'>): boolean => {
  const kcms = texts(kcm);
  return !fleetgc.every(({ state }) => kcms.has(stateText(state)));
};

/** The first run with each ending. */
const distinct = (endings: readonly Ended[]): readonly Ended[] => [
  ...new Map(endings.toReversed().map((ended) => [stateText(ended.state), ended])).values(),
];

function verdictOf(
  { kcm, fleetgc }: Pick<SeedEndings, 'kcm' | 'fleetgc'>,
  { listed, known }: Pick<History, 'listed' | 'known'>,
): Verdict {
  if (texts(kcm).size > 1) return 'kcm-differs';
  const [first] = kcm;
  const differing = new Set(
    fleetgc.flatMap((ours) => (first === undefined ? [] : differences(first, ours).map(({ id }) => id))),
  );
  if (listed === undefined) {
    if (differing.size === 0) return 'equal';
    return known !== undefined && [...differing].every((id) => known.ids.includes(id))
      ? 'known'
      : 'different';
  }
  return differing.size === listed.ids.length && listed.ids.every((id) => differing.has(id))
    ? 'listed'
    : 'different';
}

export function judged(history: History, { kcm, fleetgc, none }: SeedEndings): SeedOutcome {
  const { seed, isWild } = history;
  const [first] = kcm;
  const [ours] = fleetgc;
  if (first === undefined || ours === undefined) throw new RangeError(`seed ${seed} was not played`);
  return {
    seed,
    isWild,
    objects: stepsOf(history).filter((step) => step.do === 'create').length,
    verdict: verdictOf({ kcm, fleetgc }, history),
    isEffective: !texts([none]).has(stateText(ours.state)),
    survivors: { kcm: first.state.size, fleetgc: ours.state.size, none: none.state.size },
    differences: distinct([...kcm, ...fleetgc]).flatMap((other) => differences(first, other)),
    stalled: Object.fromEntries(
      [...kcm, ...fleetgc].flatMap(({ side, stalledAt }) =>
        stalledAt.length === 0 ? [] : [[side, stalledAt.map(({ id, what }) => `o${id} ${what}`)]],
      ),
    ),
    isOneOfKcms: !isDoubtful({ kcm, fleetgc }),
  };
}
