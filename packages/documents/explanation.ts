import type { DecisionOutcome } from '../../schemas/events/decision.ts';
import { durationText } from '../../schemas/policy/value-text.ts';
import type {
  Ambiguous,
  Candidate,
  Explained,
  Explanation,
  ExplanationLine,
} from '../../schemas/reports/explanation.ts';
import type {
  EntryOf,
  ExplainedUser,
  SeenHow,
  StatedReason,
  TimelineEntry,
} from '../../schemas/reports/timeline.ts';
import { objectKey } from '../audit/events/log-position.ts';
import { freedSpace } from '../decision/freed-space.ts';
import { jsonLines } from '../text/json-text.ts';
import { printableLine } from '../text/printable.ts';
import { shortIds } from '../text/short-hash.ts';
import { sizeText } from '../text/size-text.ts';
import { timeText } from '../text/time-text.ts';
import { freedText, holdersText } from './activity.ts';
import { type EntryText, factsText, repeatedText } from './facts.ts';
import { tableLines } from './text.ts';

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
interface ToldLife {
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
  return jsonLines(linesOf(explanation));
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

/** One line of a timeline. */
export function entryText(entry: TimelineEntry): EntryText {
  switch (entry.what) {
    case 'seen':
      return { word: entry.how === 'again' ? 'back' : 'seen', text: seenText(entry) };
    case 'changed':
      return { word: 'changed', text: changedText(entry) };
    case 'used':
      return { word: entry.users.length === 0 ? 'unused' : 'used', text: usedText(entry) };
    case 'verdict':
      return verdictText(entry);
    case 'undecided':
      return { word: 'undecided', text: undecidedText(entry) };
    case 'command':
      return { word: 'command', text: commandText(entry) };
    case 'result':
      return resultText(entry);
    case 'gone':
      return { word: 'gone', text: goneText(entry) };
    case 'not-seen':
      return { word: 'not seen', text: `${notSeenText(entry)}${repeatedText(entry)}` };
    case 'decision':
      return { word: 'decided', text: `${decisionText(entry)}${repeatedText(entry)}` };
    case 'command-result':
      return commandResultText(entry);
    case 'pass-failed':
      return { word: 'failed', text: entry.message };
    case 'unrelieved':
      return { word: 'short', text: unrelievedText(entry) };
  }
}

function undecidedText(entry: EntryOf<'undecided'>): string {
  const passedOver = entry.outcome === 'overtaken' ? 'passed over: ' : '';
  const reason = spreadText(entry, { reason: entry.reason, facts: {} }, (said) => reasonText(said.reason));
  return `${passedOver}${reason}${repeatedText(entry)}`;
}

function seenText({ how, object, traits }: EntryOf<'seen'>): string {
  const { name } = object;
  const facts = Object.entries(traits).filter(([trait, value]) => !isPlain(trait, value, name));
  const since = how === 'again' && object.kind === 'image' ? 'pulled again' : SINCE[how];
  return [since, factsText(Object.fromEntries(facts))].filter((text) => text !== '').join('; ');
}

const SINCE: Readonly<Record<SeenHow, string>> = {
  'first-look': 'there at the first look',
  new: 'new',
  again: 'there again',
};

/** What says nothing beside the name: digests are for programs. */
const isPlain = (trait: string, value: string | number | boolean | null, name: string): boolean =>
  value === '' || value === name || (trait === 'pinned' && value === false) || trait === 'digests';

const changedText = ({ from, to }: EntryOf<'changed'>): string =>
  Object.keys(to)
    .map((name) => `${factsText({ [name]: to[name] ?? null })} (was ${String(from[name] ?? 'unknown')})`)
    .join(', ');

function usedText({ users, begun, ended, lastUsedMs }: EntryOf<'used'>): string {
  const others = users.length - begun.length;
  const parts = [
    begun.length === 0 ? '' : `${others > 0 ? 'also ' : ''}by ${namesText(begun)}`,
    ended.length === 0 ? '' : `not any more by ${namesText(ended)}`,
    users.length === 0 ? `by nobody now; last used ${lastUsedText(lastUsedMs)}` : '',
    ended.length > 0 && begun.length === 0 && users.length > 0 ? `still by ${users.length}` : '',
  ];
  return parts.filter((part) => part !== '').join('; ');
}

const lastUsedText = (ms: number | null): string => (ms === null ? 'never' : timeText(ms));

const MOST_NAMES = 3;

function namesText(objects: readonly ExplainedUser[]): string {
  const names = objects.slice(0, MOST_NAMES).map(({ kind, name }) => `${kind} ${name}`);
  const more = objects.length - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function verdictText(entry: EntryOf<'verdict'>): EntryText {
  const { action, outcome } = entry;
  if (action === 'keep') return { word: 'kept', text: `${ruleText(entry)}${repeatedText(entry)}` };
  const policy =
    entry.policy === null ? '' : ` under policy ${entry.policy.name}, version ${entry.policy.version}`;
  const text = `${ruleText(entry)}${policy}${repeatedText(entry)}`;
  return outcome === 'dry-run' ? { word: 'dry run', text: `would go: ${text}` } : { word: 'to go', text };
}

/** The rule in words, its number, and what it looked at, where the words do not say it already. */
const ruleText = (entry: EntryOf<'verdict'>): string =>
  spreadText(entry, entry, ({ facts }) => ruleWith(entry, facts));

function ruleWith(
  { because, rule }: Pick<EntryOf<'verdict'>, 'because' | 'rule'>,
  { user: _, ...facts }: EntryOf<'verdict'>['facts'],
): string {
  const notShown = Object.entries(facts).filter(
    ([, value]) => typeof value !== 'string' || !because.includes(value),
  );
  const shown = factsText(Object.fromEntries(notShown));
  return `${because} (${[rule, shown].filter((part) => part !== '').join(': ')})`;
}

function commandText({ rule, expectedBytes, lifetimeMs, answered }: EntryOf<'command'>): string {
  const size = expectedBytes === null ? '' : `, which is to free ${sizeText(BigInt(expectedBytes))}`;
  const answer = answered ? '' : '; the event log has no answer to it';
  return `remove it (${rule}) within ${lifetimeMs / 1_000} s${size}${answer}`;
}

const WORDS: Readonly<Record<EntryOf<'result'>['outcome'], string>> = {
  removed: 'removed',
  'not-found': 'not found',
  refused: 'refused',
  failed: 'failed',
  'not-needed': 'stayed',
  'not-done': 'stayed',
};

function resultText(entry: EntryOf<'result'>): EntryText {
  const { outcome, wholeCommand, message } = entry;
  const word = WORDS[outcome];
  switch (outcome) {
    case 'removed':
      return { word, text: resultFreedText(entry) };
    case 'not-found':
      return { word, text: 'it was gone already when the node came to it' };
    case 'refused':
    case 'failed':
    case 'not-needed':
    case 'not-done':
      return { word, text: `${wholeCommand ? 'the whole command: ' : ''}${message ?? outcome}` };
  }
}

/** What the disk says, beside what was reckoned with. */
const resultFreedText = ({ measured, expectedBytes }: EntryOf<'result'>): string =>
  freedText(freedSpace(measured, expectedBytes), expectedBytes);

function goneText({ object, commandOpen, otherInstance }: EntryOf<'gone'>): string {
  if (object.kind === 'pod') return 'nothing of it is listed any more';
  if (otherInstance) return 'not listed any more since the node was installed anew';
  return commandOpen
    ? 'not listed any more; a command to remove it has no answer on the event log'
    : 'not listed any more, and not removed by FleetGC';
}

const OUTCOMES: Readonly<Record<DecisionOutcome, string>> = {
  commanded: 'commands',
  ordered: 'orders a look',
  'dry-run': 'dry run',
  'nothing-to-do': 'nothing to do',
  'waits-for-containers': 'containers go first',
  unrelieved: 'nothing more can go',
  'no-policy': 'no policy selects the node',
  paused: 'paused',
  'not-believed': 'nothing can be decided',
  'too-costly': 'too costly to decide',
  'no-common-version': 'no version of commands in common',
  overtaken: 'passed over',
};

/** What a decider concluded for the node. */
function decisionText(entry: EntryOf<'decision'>): string {
  const { decider, outcome, answered } = entry;
  const reason = spreadText(entry, { reason: entry.reason, facts: {} }, (said) => reasonText(said.reason));
  const goes = entry.removals === 0 ? '' : `: ${removalsText(entry)}`;
  const answer = answered === false ? '; the event log has no answer to its command' : '';
  return `${decider}: ${OUTCOMES[outcome]}${goes}${reason === '' ? '' : `: ${reason}`}${answer}`;
}

function removalsText({ removals, estimatedBytes }: EntryOf<'decision'>): string {
  const size = estimatedBytes === 0 ? '' : `, about ${sizeText(BigInt(estimatedBytes))}`;
  return `${removals} to go${size}`;
}

function commandResultText({ result }: EntryOf<'command-result'>): EntryText {
  if (result.outcome === 'refused') return { word: 'refused', text: `the whole command: ${result.message}` };
  const counts = COUNTS.flatMap(([name, words]) => (result[name] === 0 ? [] : [`${result[name]} ${words}`]));
  const { measured, estimatedBytes, removed } = result;
  const freed = removed === 0 ? '' : `; ${freedText(freedSpace(measured, estimatedBytes), estimatedBytes)}`;
  return { word: 'done', text: `${counts.join(', ')}${freed}` };
}

const COUNTS = [
  ['removed', 'removed'],
  ['notFound', 'gone already'],
  ['refused', 'refused'],
  ['failed', 'failed'],
  ['notNeeded', 'not needed any more'],
  ['notDone', 'not come to'],
] as const;

function notSeenText({ status, problems }: EntryOf<'not-seen'>): string {
  switch (status) {
    case 'too-large':
      return 'too many objects to publish, so nothing is decided';
    case 'incomplete':
      return `the look is not complete: ${problems.map(({ message }) => message).join('; ')}`;
  }
}

const unrelievedText = ({ holders }: EntryOf<'unrelieved'>): string =>
  `the target was not reached; space is held by ${holdersText(holders)}`;

/** A reason as a decider recorded it, whose numbers are for machines: `864000000 ms` is told as `240h`. */
export const reasonText = (reason: string): string =>
  reason
    .replace(/\b(\d{1,15}) ms\b/g, (_, ms: string) => durationText(Number(ms)))
    .replace(/\b(\d+) bytes\b/g, (_, bytes: string) => sizeText(BigInt(bytes)));

/** A time, a number with what belongs to it (`60%`, `1.2 GB`, `1m30s`), or what is none. */
const PART = /\d{4}-\d\d-\d\dT[\d:.]+Z|\d[\d.]*(?:(?:ms|[hms])\d*)*(?: ?(?:[kMGTPE]?B|%))?|[^\d]+/g;

/** What a row of several says: `used to 60% to 73%`, where the first said 60 and another 73. */
function spreadText(
  { spread }: Pick<EntryOf<'verdict'>, 'spread'>,
  said: StatedReason,
  textOf: (said: StatedReason) => string,
): string {
  if (spread === undefined) return textOf(said);
  const [least, most] = [textOf(spread.least).match(PART) ?? [], textOf(spread.most).match(PART) ?? []];
  const isAlike =
    least.length === most.length && least.every((part, index) => isNumber(part) === isNumber(most[index]));
  if (!isAlike) return textOf(said);
  return least
    .map((part, index) => (part === most[index] ? part : `${part} to ${most[index] ?? ''}`))
    .join('');
}

const isNumber = (part: string | undefined): boolean => /^\d/.test(part ?? '');
