import { kindName } from '../../schemas/events/cluster-objects.ts';
import type {
  ClusterCandidate,
  ClusterExplanation,
  ClusterExplanationLine,
  ClusterTimelineEntry,
  ObjectLife,
  ObjectName,
} from '../../schemas/reports/cluster-explanation.ts';
import { counted } from '../text/counted.ts';
import { jsonLines } from '../text/json-text.ts';
import { printableLine } from '../text/printable.ts';
import { timeText } from '../text/time-text.ts';
import { nameOf } from './cluster.ts';
import { clusterEntryText, outcomeText } from './cluster-life.ts';
import { CLOCKS_APART_MS } from './explanation.ts';
import { tableLines } from './text.ts';

type Explained = Extract<ClusterExplanation, { status: 'explained' }>;

/** For people. Names come from elsewhere and are made harmless. */
export function clusterExplanationLines(explanation: ClusterExplanation): readonly string[] {
  switch (explanation.status) {
    case 'explained':
      return explainedLines(explanation).map(printableLine);
    case 'ambiguous':
      return candidateLines(explanation.candidates).map(printableLine);
    case 'not-found':
      return [];
  }
}

const explainedLines = (explained: Explained): readonly string[] => [
  headText(explained),
  readingText(explained),
  ...explained.lives.flatMap((life) => ['', ...lifeLines(life)]),
];

function headText({ subject, lives }: Explained): string {
  const name = `${kindName(subject)} ${nameOf(subject)} of cluster ${subject.cluster}`;
  return lives.length === 1
    ? name
    : `${name}: ${counted(lives.length, 'object')} had this name, one after the other`;
}

function readingText({ reading: { firstRecordMs, lastRecordMs }, lives }: Explained): string {
  const span =
    firstRecordMs === null || lastRecordMs === null
      ? ''
      : `, which was read from ${timeText(firstRecordMs)} to ${timeText(lastRecordMs)}`;
  const cluster = lives.some(({ timeline }) => timeline.some(isApart))
    ? ` [cluster: …] is the API server's own clock, where it says otherwise or the record came late.`
    : '';
  return `Times are UTC by the clock of the event log${span}.${cluster}`;
}

const lifeLines = (life: ObjectLife): readonly string[] => [
  `uid ${life.uid}: ${outcomeText(life)}`,
  ...tableLines(['TIME', 'WHAT', ''], life.timeline.map(rowOf)),
];

function rowOf(entry: ClusterTimelineEntry): readonly string[] {
  const { word, text } = clusterEntryText(entry);
  return [timeText(entry.loggedAtMs), word, `${text}${clusterTimeText(entry)}`];
}

const isApart = ({ loggedAtMs, clusterTimeMs }: ClusterTimelineEntry): boolean =>
  clusterTimeMs !== null && Math.abs(loggedAtMs - clusterTimeMs) > CLOCKS_APART_MS;

const clusterTimeText = (entry: ClusterTimelineEntry): string =>
  isApart(entry) && entry.clusterTimeMs !== null ? ` [cluster: ${timeText(entry.clusterTimeMs)}]` : '';

const STATE_WORDS: Readonly<Record<ObjectLife['state'], string>> = {
  there: 'there',
  settled: 'settled',
  'being-deleted': 'being deleted',
  removed: 'removed',
  gone: 'gone',
};

/** What to ask for instead, as the first column. */
const candidateLines = (candidates: readonly ClusterCandidate[]): readonly string[] =>
  tableLines(
    ['ASK FOR', 'CLUSTER', 'UID', 'FIRST TOLD', 'LAST TOLD', 'NOW'],
    candidates.map((candidate) => [
      askFor(candidate),
      candidate.cluster,
      candidate.uid,
      timeText(candidate.firstMs),
      timeText(candidate.lastMs),
      STATE_WORDS[candidate.state],
    ]),
  );

const askFor = (name: ObjectName): string => `${kindName(name)}/${nameOf(name)}`;

/** For programs, a line for each entry of each life or each thing that may be meant. */
export function clusterExplanationNdjson(explanation: ClusterExplanation): string {
  return jsonLines(linesOf(explanation));
}

function linesOf(explanation: ClusterExplanation): readonly ClusterExplanationLine[] {
  const { asked } = explanation;
  switch (explanation.status) {
    case 'explained':
      return explanation.lives.flatMap(({ timeline, ...life }) =>
        timeline.map(
          (entry): ClusterExplanationLine => ({
            type: 'fleetgc.cluster-timeline-entry',
            version: 1,
            asked,
            subject: { ...explanation.subject, ...life },
            entry,
          }),
        ),
      );
    case 'ambiguous':
      return explanation.candidates.map((candidate) => ({
        type: 'fleetgc.cluster-candidate',
        version: 1,
        asked,
        candidate,
      }));
    case 'not-found':
      return [];
  }
}
