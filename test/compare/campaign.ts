import { openArena } from './arena.ts';
import type { History } from './history/history.ts';
import { judged, type SeedOutcome } from './judge/verdict.ts';
import { type Ended, playAlone, playWith } from './phase.ts';
import { type Deeds, startFleetGc } from './sides/fleetgc.ts';
import { startKcm } from './sides/kcm.ts';
import type { Subject } from './subjects.ts';

export interface Campaign {
  readonly subject: Subject;
  /** The command that is compared. */
  readonly program: string;
  readonly deeds: Deeds;
  readonly tell: (text: string) => void;
}

const KCM_RUNS = 3;
/** What differs is played so often again before it counts, as chance may have it that three runs agree. */
const AGAIN_RUNS = 6;

/** Plays these seeds side by side on one API server: first with one collector, then with the other, then with none. */
export async function playBatch(
  campaign: Campaign,
  seeds: readonly number[],
): Promise<readonly SeedOutcome[]> {
  await using arena = await openArena();
  const histories = seeds.map((seed) => campaign.subject.draw(seed));
  const played = async (chosen: readonly History[], names: Names): Promise<Played> => ({
    kcm: await withKcm(campaign, arena, chosen, names.kcm),
    fleetgc: await withFleetGc(campaign, arena, chosen, names.fleetgc),
  });
  const first = await played(histories, namesOf('', KCM_RUNS, 1));
  const none = await playAlone(arena, histories, 'none');
  const outcomeOf = (history: History, more: readonly Played[]): SeedOutcome => {
    const { seed, isWild } = history;
    const alone = none.find((each) => each.seed === seed);
    if (alone === undefined) throw new RangeError(`seed ${seed} was not played without a collector`);
    const of = (side: keyof Played) =>
      more.flatMap((each) => each[side].filter((ended) => ended.seed === seed));
    const endings = { kcm: of('kcm'), fleetgc: of('fleetgc'), none: alone };
    return judged({ seed, isWild, objects: objectsOf(history) }, endings);
  };
  const doubtful = histories.filter((history) => !outcomeOf(history, [first]).isOneOfKcms);
  const again =
    doubtful.length === 0 ? [] : [await played(doubtful, namesOf('again-', AGAIN_RUNS, KCM_RUNS))];
  return histories.map((history) => outcomeOf(history, [first, ...again]));
}

interface Played {
  readonly kcm: readonly Ended[];
  readonly fleetgc: readonly Ended[];
}

interface Names {
  readonly kcm: readonly string[];
  readonly fleetgc: readonly string[];
}

function namesOf(prefix: string, kcmRuns: number, fleetgcRuns: number): Names {
  const names = (side: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${side}-${prefix}${index + 1}`);
  return { kcm: names('kcm', kcmRuns), fleetgc: names('fleetgc', fleetgcRuns) };
}

type Arena = Parameters<typeof playWith>[0];

async function withKcm(
  { subject }: Campaign,
  arena: Arena,
  histories: readonly History[],
  names: readonly string[],
): Promise<readonly Ended[]> {
  await using collector = await startKcm(subject, arena.kubeconfig);
  return await playWith(arena, collector, histories, names);
}

async function withFleetGc(
  { subject, program, deeds }: Campaign,
  arena: Arena,
  histories: readonly History[],
  names: readonly string[],
): Promise<readonly Ended[]> {
  await using collector = await startFleetGc(subject, arena.kubeconfig, { program, deeds });
  return await playWith(arena, collector, histories, names);
}

const objectsOf = ({ bursts }: History): number =>
  bursts.flat().filter((step) => step.do === 'create').length;

/** Plays all seeds, batch by batch, on so many API servers at once. */
export async function compareAll(
  campaign: Campaign,
  {
    seeds,
    batch,
    lanes,
  }: { readonly seeds: readonly number[]; readonly batch: number; readonly lanes: number },
): Promise<readonly SeedOutcome[]> {
  const batches = Array.from({ length: Math.ceil(seeds.length / batch) }, (_, index) =>
    seeds.slice(index * batch, (index + 1) * batch),
  ).values();
  const outcomes: SeedOutcome[] = [];
  const lane = async (): Promise<void> => {
    for (const each of batches) {
      const played = await playBatch(campaign, each);
      outcomes.push(...played);
      for (const outcome of played) campaign.tell(lineOf(outcome));
      campaign.tell(`${outcomes.length} of ${seeds.length} seeds`);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return outcomes;
}

const lineOf = ({ seed, objects, survivors, verdict, differences, stalled }: SeedOutcome): string =>
  [
    `seed ${seed}: ${objects} objects, left ${survivors.kcm} (kcm), ${survivors.fleetgc} (fleetgc), ${survivors.none} (none): ${verdict}`,
    ...(verdict === 'equal' ? [] : differences.map(({ text }) => `  ${text}`)),
    ...Object.entries(stalled).map(([side, what]) => `  ${side} stalled: ${what.join('; ')}`),
  ].join('\n');
