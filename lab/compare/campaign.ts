import { type Arena, openArena } from './arena.ts';
import type { History } from './history/history.ts';
import { differences } from './judge/differences.ts';
import { isDoubtful, judged, type SeedOutcome } from './judge/verdict.ts';
import { type Ended, type Play, playAlone, playWith } from './phase.ts';
import { Tracer } from './play/tracers.ts';
import type { Collector } from './sides/collector.ts';
import { type Deeds, startFleetGc } from './sides/fleetgc.ts';
import { startKcm } from './sides/kcm.ts';
import type { Subject } from './subjects.ts';

export interface Campaign {
  readonly subject: Subject;
  /** The command that is compared. */
  readonly program: string;
  readonly deeds: Deeds;
  /** Of seeds that end differently, one is looked at again. */
  readonly isOneEnough: boolean;
  readonly tell: (text: string) => void;
}

const KCM_RUNS = 3;
/** What differs is played so often again before it counts, as chance may have it that three runs agree. */
const AGAIN_RUNS = 6;

/** Plays these seeds side by side on one API server: first with one collector, then with the other, at last with none. */
async function playBatch(campaign: Campaign, seeds: readonly number[]): Promise<readonly SeedOutcome[]> {
  const { subject } = campaign;
  await using stack = new AsyncDisposableStack();
  const fields = await fieldsOf(subject, stack);
  const histories = seeds.map((seed) => subject.draw(seed));
  const played = (chosen: readonly History[], names: Names) => playBoth(campaign, fields, chosen, names);
  const first = await played(histories, namesOf('', KCM_RUNS, 1));
  const doubtful = histories
    .filter((history) => history.listed === undefined && isDoubtful(endingsOf(history, [first])))
    .slice(0, campaign.isOneEnough ? 1 : histories.length);
  for (const history of doubtful) campaign.tell(doubtOf(history, endingsOf(history, [first])));
  const again =
    doubtful.length === 0 ? [] : [await played(doubtful, namesOf('again-', AGAIN_RUNS, KCM_RUNS))];
  const none = await timed(campaign, 'without a collector', () =>
    playAlone(fields.fleetgc.arena, playOf(subject, histories, ['none'])),
  );
  return histories.map((history) => {
    const endings = { ...endingsOf(history, [first, ...again]), none: endingOf(history, none) };
    return judged(history, endings);
  });
}

const doubtOf = ({ seed }: History, { kcm, fleetgc }: Played): string =>
  [
    `  seed ${seed} is played again, since FleetGC ended as no run of kube-controller-manager did:`,
    ...kcm
      .slice(0, 1)
      .flatMap((theirs) =>
        fleetgc.flatMap((ours) => differences(theirs, ours).map(({ text }) => `    ${text}`)),
      ),
  ].join('\n');

/** Where a collector is played. */
interface Field {
  readonly arena: Arena;
  readonly tracer: Tracer;
}
type Fields = Readonly<Record<'kcm' | 'fleetgc', Field>>;

async function fieldsOf(subject: Subject, stack: AsyncDisposableStack): Promise<Fields> {
  const open = async (): Promise<Field> => {
    const arena = stack.use(await openArena());
    const tracer = new Tracer(arena.api, subject.trace);
    await tracer.begin();
    return { arena, tracer };
  };
  const kcm = await open();
  return { kcm, fleetgc: subject.isSlow ? await open() : kcm };
}

async function playBoth(
  campaign: Campaign,
  fields: Fields,
  chosen: readonly History[],
  names: Names,
): Promise<Played> {
  const { subject } = campaign;
  const kcm = () =>
    playSide(campaign, 'kube-controller-manager', fields.kcm, playOf(subject, chosen, names.kcm), () =>
      startKcm(subject, fields.kcm.arena.kubeconfig),
    );
  const fleetgc = () =>
    playSide(campaign, 'FleetGC', fields.fleetgc, playOf(subject, chosen, names.fleetgc), () =>
      startFleetGc(subject, fields.fleetgc.arena.kubeconfig, campaign),
    );
  if (!subject.isSlow) return { kcm: await kcm(), fleetgc: await fleetgc() };
  const [first, second] = await Promise.all([kcm(), fleetgc()]);
  return { kcm: first, fleetgc: second };
}

const playOf = (
  { sight, end, isAlone }: Subject,
  histories: readonly History[],
  sides: readonly string[],
): Play => ({ sight, end, isAlone, histories, sides });

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

function playSide(
  campaign: Campaign,
  name: string,
  { arena, tracer }: Field,
  play: Play,
  start: () => Promise<Collector>,
): Promise<readonly Ended[]> {
  return timed(campaign, `${play.histories.length} seeds with ${name}`, async () => {
    const ended: Ended[] = [];
    for (const each of playsIn(play)) {
      await using collector = await start();
      ended.push(...(await playWith(arena, collector, tracer, each)));
    }
    return ended;
  });
}

/** What is played at once. */
const playsIn = (play: Play): readonly Play[] =>
  play.isAlone
    ? play.histories.flatMap((history) =>
        play.sides.map((side) => ({ ...play, histories: [history], sides: [side] })),
      )
    : [play];

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
  const played = seeds.filter((seed) => seed <= campaign.subject.lastSeed);
  const batches = Array.from({ length: Math.ceil(played.length / batch) }, (_, index) =>
    played.slice(index * batch, (index + 1) * batch),
  ).values();
  const outcomes: SeedOutcome[] = [];
  const problems: string[] = [];
  const play = async (each: readonly number[]): Promise<void> => {
    const ended = await playBatch(campaign, each);
    outcomes.push(...ended);
    for (const outcome of ended) campaign.tell(lineOf(outcome));
    campaign.tell(`${outcomes.length} of ${played.length} seeds`);
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
