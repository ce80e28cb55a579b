import { objectKey } from '../../../../packages/audit/events/log-position.ts';
import { printableLine } from '../../../../packages/text/printable.ts';
import { timeText } from '../../../../packages/text/time-text.ts';
import type {
  Ambiguous,
  Candidate,
  Explained,
  Explanation,
  ExplanationLine,
} from '../../../../schemas/reports/explanation.ts';
import type { EntryOf, TimelineEntry } from '../../../../schemas/reports/timeline.ts';
import { tableLines } from '../../../framework/output.ts';
import { jsonLine } from '../../../framework/printable-documents.ts';
import { shortIds } from '../short-id.ts';
import { entryText, goneText, resultFreedText, ruleText } from './entry-text.ts';

/** For people. Names come from elsewhere and are made harmless. */
export function explanationLines(explanation: Explanation): readonly string[] {
  if (explanation.status === 'not-found') return [];
  const lines =
    explanation.status === 'explained' ? explainedLines(explanation) : candidateLines(explanation);
  return lines.map(printableLine);
}

function explainedLines(explained: Explained): readonly string[] {
  const { sentences, entries } = toldLife(explained);
  const hasParts = entries.some(({ of }) => of !== null);
  const header = hasParts ? ['TIME', 'OF', 'WHAT', ''] : ['TIME', 'WHAT', ''];
  const rows = entries.map(({ atMs, of, word, text }) =>
    of === null ? [timeText(atMs), word, text] : [timeText(atMs), of, word, text],
  );
  return [...sentences, '', ...tableLines(header, rows)];
}

/** A life in words: sentences about all of it, and an entry for each thing that happened. */
export interface ToldLife {
  readonly sentences: string[];
  readonly entries: {
    readonly atMs: number;
    /** What of it, where it has parts. */
    readonly of: string | null;
    readonly word: string;
    readonly text: string;
  }[];
}

export function toldLife(explained: Explained): ToldLife {
  const { subject, timeline, reading } = explained;
  const hasParts = new Set(timeline.map(({ object }) => objectKey(object))).size > 1;
  const entries = timeline.map((entry) => {
    const { word, text } = entryText(entry);
    const of = hasParts ? printableLine(partText(entry, subject)) : null;
    return { atMs: entry.loggedAtMs, of, word, text: printableLine(`${text}${nodeTimeText(entry)}`) };
  });
  const sentences = [headText(subject), outcomeText(explained), readingText(reading, timeline)];
  return { sentences: sentences.map(printableLine), entries };
}

function headText({ kind, id, name, cluster, node }: Candidate): string {
  if (kind === 'node') return `node ${name}`;
  return `${kind} ${name}${name === id ? '' : ` (${shortIds(id)})`} on ${cluster}/${node}`;
}

/** Of a pod its parts by what tells them apart in it. */
function partText({ object }: TimelineEntry, subject: Candidate): string {
  switch (object.kind) {
    case 'pod':
      return 'pod';
    case 'pod-log-directory':
      return 'its logs';
    case 'container':
    case 'sandbox':
    case 'log-symlink':
    case 'image':
    case 'node':
      return `${object.kind} ${nameInPod(object.name, subject.name)}`;
  }
}

const nameInPod = (name: string, pod: string): string =>
  name.startsWith(`${pod}/`) ? name.slice(pod.length + 1) : name.replace(pod, '');

/** Farther apart than this, both clocks are told. */
export const CLOCKS_APART_MS = 10_000;

const isApart = ({ loggedAtMs, nodeTimeMs }: TimelineEntry): boolean =>
  Math.abs(loggedAtMs - nodeTimeMs) > CLOCKS_APART_MS;

const nodeTimeText = (entry: TimelineEntry): string =>
  isApart(entry) ? ` [node: ${timeText(entry.nodeTimeMs)}]` : '';

function readingText(reading: Explained['reading'], timeline: readonly TimelineEntry[]): string {
  const { firstRecordMs, lastRecordMs } = reading;
  const span =
    firstRecordMs === null || lastRecordMs === null
      ? ''
      : `, which was read from ${timeText(firstRecordMs)} to ${timeText(lastRecordMs)}`;
  const node = timeline.some(isApart)
    ? ` [node: …] is the node's own clock, where it says otherwise or the record came late.`
    : '';
  return `Times are UTC by the clock of the event log${span}.${node}`;
}

/** What to ask for instead, as the first column. */
function candidateLines({ candidates }: Ambiguous): readonly string[] {
  return tableLines(
    ['ASK FOR', 'NAME', 'NODE', 'FIRST SEEN', 'LAST SEEN', 'NOW'],
    candidates.map(({ kind, id, name, cluster, node, state, firstSeenMs, lastSeenMs }) => [
      `${kind}/${kind === 'node' ? name : shortIds(id)}`,
      name,
      `${cluster}/${node}`,
      timeText(firstSeenMs),
      timeText(lastSeenMs),
      state,
    ]),
  );
}

/** For programs, a line for each entry of the timeline or each thing that may be meant. */
export function explanationNdjson(explanation: Explanation): string {
  return linesOf(explanation)
    .map((line) => `${jsonLine(line)}\n`)
    .join('');
}

function linesOf(explanation: Explanation): ExplanationLine[] {
  const { asked } = explanation;
  switch (explanation.status) {
    case 'explained': {
      const { subject, timeline } = explanation;
      return timeline.map((entry) => ({ type: 'fleetgc.timeline-entry', version: 1, asked, subject, entry }));
    }
    case 'ambiguous':
      return explanation.candidates.map((candidate) => ({
        type: 'fleetgc.candidate',
        version: 1,
        asked,
        candidate,
      }));
    case 'not-found':
      return [];
  }
}

/** The answer in a sentence or two, before the whole story: how it stands, and by which rule. */
function outcomeText({ subject, timeline }: Explained): string {
  const { kind, state, lastSeenMs } = subject;
  if (kind === 'node') return `Last heard of at ${timeText(lastSeenMs)}.`;
  switch (state) {
    case 'there':
      return `There at the last look (${timeText(lastSeenMs)})${keptText(timeline)}.`;
    case 'removed':
      return removedText(timeline);
    case 'gone':
      return lastSeenText(timeline, lastSeenMs);
  }
}

function lastSeenText(timeline: readonly TimelineEntry[], lastSeenMs: number): string {
  const gone = timeline.findLast((entry) => entry.what === 'gone');
  if (gone === undefined) return `Not there any more; last listed at ${timeText(lastSeenMs)}.`;
  return `Gone at ${timeText(gone.loggedAtMs)}: ${goneText(gone)}; last listed at ${timeText(lastSeenMs)}.`;
}

/** Of a pod, whose parts are decided one by one, nothing. */
function keptText(timeline: readonly TimelineEntry[]): string {
  const verdicts = timeline.filter((entry) => entry.what === 'verdict');
  const last = verdicts.at(-1);
  const ofOne = new Set(verdicts.map(({ object }) => object.id)).size === 1;
  if (last === undefined) return timeline.some(isDecided) ? '' : '; nothing was decided about it';
  if (!ofOne) return '';
  return `; ${last.action === 'keep' ? 'kept' : goingText(last)}: ${ruleText(last)}`;
}

const isDecided = ({ what }: TimelineEntry): boolean => what === 'undecided' || what === 'verdict';

const goingText = ({ outcome }: EntryOf<'verdict'>): string =>
  outcome === 'dry-run' ? 'would go, but the policy says dry-run' : 'to go';

function removedText(timeline: readonly TimelineEntry[]): string {
  const results = timeline.filter((entry) => entry.what === 'result' && entry.outcome === 'removed');
  const last = results.at(-1);
  if (last?.what !== 'result') return 'Removed by FleetGC.';
  const { commandId } = last;
  const command = timeline.find((entry) => entry.what === 'command' && entry.commandId === commandId);
  const because = command?.what === 'command' ? `: ${command.because} (${command.rule})` : '';
  const ofOne = results.length === 1 ? `; ${resultFreedText(last)}` : '';
  return `Removed by FleetGC at ${timeText(last.loggedAtMs)}${because}${ofOne}.`;
}
