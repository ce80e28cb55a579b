import { nodeKey } from '../../../schemas/events/identity.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import type { Candidate, Explanation, Reading } from '../../../schemas/reports/explanation.ts';
import { namesLike } from './near-names.ts';
import type { AskedName, ExplainRequest } from './question.ts';
import type { Subject } from './subjects.ts';
import type { Watched } from './watch-partitions.ts';

/** What was found, and where it was looked for. */
export interface FoundSubjects {
  readonly watched: readonly Watched[];
  /** Told by an index; their lives were not read. */
  readonly indexed: readonly Candidate[];
  /** Names that may have been meant, beside those of what was read. */
  readonly names: ReadonlySet<string>;
  /** Records that an index ruled out. */
  readonly ruledOut: number;
}

interface MaybeRead extends Pick<Subject, 'candidate'> {
  /** `null`: it was not read. */
  readonly timeline: Subject['timeline'] | null;
}

/** The one thing that is meant, where its life is still to be read. */
export function stillToRead(found: FoundSubjects, request: ExplainRequest): Candidate | null {
  const [only, ...others] = chosen(found, request);
  return only !== undefined && others.length === 0 && only.timeline === null ? only.candidate : null;
}

export function answerOf(found: FoundSubjects, request: ExplainRequest, asked: AskedName): Explanation {
  const { name, range } = request;
  const subjects = chosen(found, request);
  const head = {
    type: 'fleetgc.explanation',
    version: 1,
    asked: name,
    reading: { ...range, ...readingOf(found) },
  } as const;
  const [only, ...others] = subjects;
  if (only === undefined) {
    const names = new Set([...found.watched.flatMap((one) => [...one.names]), ...found.names]);
    return { ...head, status: 'not-found', ...namesLike(asked, names) };
  }
  return others.length === 0
    ? { ...head, status: 'explained', subject: only.candidate, timeline: [...(only.timeline?.() ?? [])] }
    : {
        ...head,
        status: 'ambiguous',
        candidates: subjects.map(({ candidate }) => candidate).toSorted(byPlace),
      };
}

function chosen({ watched, indexed }: FoundSubjects, { thereOnly }: ExplainRequest): readonly MaybeRead[] {
  const subjects: readonly MaybeRead[] = [
    ...watched.flatMap((one) => one.subjects),
    ...indexed.map((candidate) => ({ candidate, timeline: null })),
  ];
  const there = subjects.filter(({ candidate }) => candidate.state === 'there');
  return thereOnly && there.length > 0 ? there : subjects;
}

/** The same order however they were found. */
const byPlace = (a: Candidate, b: Candidate): number =>
  compareText(nodeKey(a), nodeKey(b)) ||
  a.firstSeenMs - b.firstSeenMs ||
  compareText(a.name, b.name) ||
  compareText(a.id, b.id);

function readingOf({ watched, ruledOut }: FoundSubjects): Omit<Reading, 'fromMs' | 'toMs'> {
  const firsts = watched.flatMap(({ firstRecordMs }) => firstRecordMs ?? []);
  const lasts = watched.flatMap(({ lastRecordMs }) => lastRecordMs ?? []);
  return {
    firstRecordMs: firsts.length === 0 ? null : Math.min(...firsts),
    lastRecordMs: lasts.length === 0 ? null : Math.max(...lasts),
    records: watched.reduce((sum, one) => sum + one.records, 0),
    unreadable: watched.reduce((sum, one) => sum + one.unreadable, 0),
    ruledOut,
  };
}
