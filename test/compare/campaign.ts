import { openArena } from './arena.ts';
import type { History } from './history/history.ts';
import { isDoubtful, judged, type SeedOutcome } from './judge/verdict.ts';
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

/** Plays these seeds side by side on one API server: first with one collector, then with the other, at last with none. */
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
  const doubtful = histories.filter((history) => isDoubtful(endingsOf(history, [first])));
  const again =
    doubtful.length === 0 ? [] : [await played(doubtful, namesOf('again-', AGAIN_RUNS, KCM_RUNS))];
  const none = await timed(campaign, 'without a collector', () => playAlone(arena, histories, 'none'));
  return histories.map((history) => {
    const { seed, isWild } = history;
    const endings = { ...endingsOf(history, [first, ...again]), none: endingOf(history, none) };
    return judged({ seed, isWild, objects: objectsOf(history) }, endings);
  });
}

const endingsOf = ({ seed }: History, played: readonly Played[]): Played => ({
  kcm: played.flatMap(({ kcm }) => kcm.filter((ended) => ended.seed === seed)),
  fleetgc: played.flatMap(({ fleetgc }) => fleetgc.filter((ended) => ended.seed === seed)),
});

function endingOf({ seed }: History, endings: readonly Ended[]): Ended {
  const found = endings.find((ended) => ended.seed === seed);
  if (found === undefined) throw new RangeError(`seed ${seed} was not played`);
  return found;
}

/** Tells how long it took. */
async function timed<T>({ tell }: Pick<Campaign, 'tell'>, what: string, act: () => Promise<T>): Promise<T> {
  const beganMs = performance.now();
  const value = await act();
  tell(`  ${what}: ${Math.round((performance.now() - beganMs) / 1_000)} s`);
  return value;
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
  campaign: Campaign,
  arena: Arena,
  histories: readonly History[],
  names: readonly string[],
): Promise<readonly Ended[]> {
  await using collector = await startKcm(campaign.subject, arena.kubeconfig);
  return await timed(campaign, `${histories.length} seeds with kube-controller-manager`, () =>
    playWith(arena, collector, histories, names),
  );
}

async function withFleetGc(
  campaign: Campaign,
  arena: Arena,
  histories: readonly History[],
  names: readonly string[],
): Promise<readonly Ended[]> {
  await using collector = await startFleetGc(campaign.subject, arena.kubeconfig, campaign);
  return await timed(campaign, `${histories.length} seeds with FleetGC`, () =>
    playWith(arena, collector, histories, names),
  );
}

const objectsOf = ({ bursts }: History): number =>
  bursts.flat().filter((step) => step.do === 'create').length;

export interface Extent {
  readonly seeds: readonly number[];
  readonly batch: number;
  readonly lanes: number;
}

export interface Compared {
  readonly outcomes: readonly SeedOutcome[];
  /** Why seeds could not be played. */
  readonly problems: readonly string[];
}

/** Plays all seeds, batch by batch, on so many API servers at once; no further batch once the signal has aborted. */
export async function compareAll(
  campaign: Campaign,
  { seeds, batch, lanes }: Extent,
  signal: AbortSignal,
): Promise<Compared> {
  const batches = Array.from({ length: Math.ceil(seeds.length / batch) }, (_, index) =>
    seeds.slice(index * batch, (index + 1) * batch),
  ).values();
  const outcomes: SeedOutcome[] = [];
  const problems: string[] = [];
  const play = async (each: readonly number[]): Promise<void> => {
    const played = await playBatch(campaign, each);
    outcomes.push(...played);
    for (const outcome of played) campaign.tell(lineOf(outcome));
    campaign.tell(`${outcomes.length} of ${seeds.length} seeds`);
  };
  const lane = async (): Promise<void> => {
    for (const each of batches) {
      if (signal.aborted) return;
      await play(each).catch((error: unknown) => {
        problems.push(`seeds ${each.join(', ')}: ${error instanceof Error ? error.message : String(error)}`);
        campaign.tell(problems.at(-1) ?? '');
      });
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return { outcomes, problems };
}

const lineOf = ({ seed, objects, survivors, verdict, differences, stalled }: SeedOutcome): string =>
  [
    `seed ${seed}: ${objects} objects, left ${survivors.kcm} (kcm), ${survivors.fleetgc} (fleetgc), ${survivors.none} (none): ${verdict}`,
    ...(verdict === 'equal' ? [] : differences.map(({ text }) => `  ${text}`)),
    ...Object.entries(stalled).map(([side, what]) => `  ${side} stalled: ${what.join('; ')}`),
  ].join('\n');
