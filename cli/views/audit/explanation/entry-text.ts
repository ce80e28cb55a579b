import { freedSpace } from '../../../../packages/decision/freed-space.ts';
import { sizeText } from '../../../../packages/text/size-text.ts';
import { timeText } from '../../../../packages/text/time-text.ts';
import type { EntryOf, ExplainedUser, SeenHow, TimelineEntry } from '../../../../schemas/reports/timeline.ts';
import { freedText } from '../../activity/freed-text.ts';
import { commandResultText, decisionText, notSeenText, unrelievedText } from './node-entry-text.ts';
import { type EntryText, factsText, reasonText, repeatedText, spreadText } from './values-text.ts';

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
export const ruleText = (entry: EntryOf<'verdict'>): string =>
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
export const resultFreedText = ({ measured, expectedBytes }: EntryOf<'result'>): string =>
  freedText(freedSpace(measured, expectedBytes), expectedBytes);

export function goneText({ object, commandOpen, otherInstance }: EntryOf<'gone'>): string {
  if (object.kind === 'pod') return 'nothing of it is listed any more';
  if (otherInstance) return 'not listed any more since the node was installed anew';
  return commandOpen
    ? 'not listed any more; a command to remove it has no answer on the event log'
    : 'not listed any more, and not removed by FleetGC';
}
