import type { Compared } from './campaign.ts';
import type { SeedOutcome, Verdict } from './judge/verdict.ts';
import type { Deeds } from './sides/fleetgc.ts';

/** What a comparison came to. */
export interface Account {
  readonly subject: string;
  readonly seeds: number;
  readonly verdicts: Readonly<Record<Verdict, number>>;
  /** Seeds that ended differently than without any collector, as a part of all. */
  readonly effective: number;
  readonly objects: { readonly fewest: number; readonly median: number; readonly most: number };
  /** Seeds of which three runs of kube-controller-manager differ among themselves. */
  readonly kcmDiffers: readonly {
    readonly seed: number;
    readonly isWild: boolean;
    readonly isOneOfKcms: boolean;
  }[];
  /** Seeds that ended differently, and of which it is known why. */
  readonly known: readonly number[];
  readonly different: readonly Pick<SeedOutcome, 'seed' | 'differences' | 'stalled'>[];
  /** Seeds in which a collector stalled, by side. */
  readonly stalled: Readonly<Record<string, readonly number[]>>;
  /** Seeds that could not be played, and why. */
  readonly problems: readonly string[];
  /** What FleetGC decided, by action and rule, and what came of it. */
  readonly decided: Readonly<Record<string, number>>;
  readonly done: Readonly<Record<string, number>>;
}

export function accountOf(
  subject: string,
  { outcomes, problems }: Compared,
  deeds: Pick<Deeds, 'decided' | 'done'>,
): Account {
  const bySeed = outcomes.toSorted((a, b) => a.seed - b.seed);
  const sizes = bySeed.map(({ objects }) => objects).toSorted((a, b) => a - b);
  const of = (verdict: Verdict) => bySeed.filter((outcome) => outcome.verdict === verdict);
  const stalled = bySeed.flatMap(({ seed, stalled: by }) => Object.keys(by).map((side) => ({ side, seed })));
  return {
    subject,
    seeds: bySeed.length,
    verdicts: {
      equal: of('equal').length,
      'kcm-differs': of('kcm-differs').length,
      listed: of('listed').length,
      known: of('known').length,
      different: of('different').length,
    },
    effective: bySeed.filter(({ isEffective }) => isEffective).length / Math.max(1, bySeed.length),
    objects: {
      fewest: sizes.at(0) ?? 0,
      median: sizes.at(Math.floor(sizes.length / 2)) ?? 0,
      most: sizes.at(-1) ?? 0,
    },
    kcmDiffers: of('kcm-differs').map(({ seed, isWild, isOneOfKcms }) => ({ seed, isWild, isOneOfKcms })),
    known: of('known').map(({ seed }) => seed),
    different: of('different').map(({ seed, differences, stalled: by }) => ({
      seed,
      differences,
      stalled: by,
    })),
    stalled: Object.fromEntries(
      [...Map.groupBy(stalled, ({ side }) => side)].map(([side, rows]) => [
        side,
        rows.map(({ seed }) => seed),
      ]),
    ),
    problems,
    decided: sorted(deeds.decided),
    done: sorted(deeds.done),
  };
}

const sorted = (counts: ReadonlyMap<string, number>): Readonly<Record<string, number>> =>
  Object.fromEntries([...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)));

/** For people; the same for the same account. */
export function accountLines(account: Account): readonly string[] {
  const { verdicts, objects, kcmDiffers, known, different, stalled, problems, decided, done } = account;
  const rows: readonly (readonly [string, string])[] = [
    ['seeds', String(account.seeds)],
    ['objects of a seed', `${objects.fewest} to ${objects.most}, median ${objects.median}`],
    ['ended differently than without any collector', percent(account.effective)],
    ['ended the same', String(verdicts.equal)],
    ['kube-controller-manager differs with itself', String(verdicts['kcm-differs'])],
    ['ended differently as it is meant to', String(verdicts.listed)],
    ['ended differently, and it is known why', String(verdicts.known)],
    ['ended differently', String(verdicts.different)],
  ];
  const width = Math.max(...rows.map(([what]) => what.length));
  return [
    `${account.subject}: kube-controller-manager and FleetGC`,
    ...rows.map(([what, value]) => `  ${what.padEnd(width)}  ${value}`),
    ...kcmDiffers.map(
      ({ seed, isWild, isOneOfKcms }) =>
        `  seed ${seed}${isWild ? ' (wild)' : ''}: runs of kube-controller-manager differ; FleetGC ended as ${isOneOfKcms ? 'one of them' : 'none of them'}`,
    ),
    ...known.map((seed) => `  seed ${seed} differs as lab/compare/history/known.ts says`),
    ...different.flatMap(({ seed, differences }) => [
      `  seed ${seed} differs:`,
      ...differences.map(({ text }) => `    ${text}`),
    ]),
    ...Object.entries(stalled).map(([side, seeds]) => `  ${side} stalled in seeds ${seeds.join(', ')}`),
    ...problems.map((problem) => `  not played: ${problem}`),
    `  FleetGC decided: ${countsText(decided)}`,
    `  what came of it: ${countsText(done)}`,
  ];
}

const percent = (part: number): string => `${(part * 100).toFixed(1)} %`;
const countsText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([what, count]) => `${what} ${count}`)
    .join(', ');
