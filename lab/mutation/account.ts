import { type Explanation, explains } from './explanations.ts';
import type { Mutant } from './mutants.ts';
import type { Verdict } from './worker/job.ts';

/** At least so many of a hundred mutants of a folder are to be killed, explained ones apart. */
const AIM_PERCENT = 90;

export type Fate = Verdict['status'] | 'not reached' | 'explained' | 'sentence';

export interface Judged extends Mutant {
  readonly fate: Fate;
}

export interface FolderAccount {
  readonly folder: string;
  readonly mutants: number;
  /** Judged, or not run as sentences; fewer than all where only a sample was asked for. */
  readonly sample: number;
  readonly killed: number;
  readonly timedOut: number;
  readonly survived: number;
  readonly notReached: number;
  readonly explained: number;
  /** Not run: what people read. */
  readonly sentences: number;
  /** Of all but sentences. */
  readonly killedPercent: number;
  /** Of all but sentences and what is explained. */
  readonly scorePercent: number;
  readonly left: readonly Left[];
}

/** A survivor that nobody has explained. */
export type Left = Pick<Mutant, 'file' | 'line' | 'mutator' | 'snippet' | 'original' | 'replacement'> & {
  readonly fate: Fate;
};

export function judged(
  mutants: readonly Mutant[],
  verdicts: ReadonlyMap<string, Verdict>,
  explanations: readonly Explanation[],
): readonly Judged[] {
  return mutants.map((mutant) => {
    if (mutant.isSentence) return { ...mutant, fate: 'sentence' };
    const fate = verdicts.get(mutant.key)?.status ?? 'not reached';
    const isLeft = fate === 'survived' || fate === 'not reached';
    return {
      ...mutant,
      fate: isLeft && explanations.some((each) => explains(each, mutant)) ? 'explained' : fate,
    };
  });
}

/** Of all mutants of a folder, or of a sample of them. */
export function accountOf(folder: string, all: readonly Judged[], mutants: number): FolderAccount {
  const count = (fate: Fate): number => all.filter((each) => each.fate === fate).length;
  const counted = all.length - count('sentence');
  const dead = count('killed') + count('timed out');
  return {
    folder,
    mutants,
    sample: all.length,
    killed: count('killed'),
    timedOut: count('timed out'),
    survived: count('survived'),
    notReached: count('not reached'),
    explained: count('explained'),
    sentences: count('sentence'),
    killedPercent: percent(dead, counted),
    scorePercent: percent(dead, counted - count('explained')),
    left: all
      .filter(({ fate }) => fate === 'survived' || fate === 'not reached')
      .map(({ file, line, mutator, snippet, original, replacement, fate }) => ({
        file,
        line,
        mutator,
        snippet,
        original,
        replacement,
        fate,
      })),
  };
}

/** Rounded down: what is short of the aim does not reach it. */
const percent = (part: number, whole: number): number =>
  whole === 0 ? 100 : Math.floor((part / whole) * 1000) / 10;

export const reachesAim = ({ scorePercent }: FolderAccount): boolean => scorePercent >= AIM_PERCENT;
