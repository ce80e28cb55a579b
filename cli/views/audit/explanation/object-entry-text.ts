import { freedSpace } from '../../../../packages/decision/freed-space.ts';
import { sizeText } from '../../../../packages/text/size-text.ts';
import { timeText } from '../../../../packages/text/time-text.ts';
import type { EntryOf } from '../../../../schemas/reports/timeline.ts';
import { freedText } from '../../narration/freed-text.ts';
import { factsText, spreadText } from './values-text.ts';

/** A word that can be looked for, and a sentence. */
export interface EntryText {
  readonly word: string;
  readonly text: string;
}

export function verdictText(entry: EntryOf<'verdict'>): EntryText {
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
  const untold = Object.entries(facts).filter(
    ([, value]) => typeof value !== 'string' || !because.includes(value),
  );
  const told = factsText(Object.fromEntries(untold));
  return `${because} (${[rule, told].filter((part) => part !== '').join(': ')})`;
}

/** Of equal events in a row: how many, and until when. */
export const repeatedText = ({ times, last }: Pick<EntryOf<'verdict'>, 'times' | 'last'>): string =>
  times === 1 ? '' : `, ${times} times until ${timeText(last.loggedAtMs)}`;

export function commandText({ rule, expectedBytes, lifetimeMs, answered }: EntryOf<'command'>): string {
  const size = expectedBytes === null ? '' : `, which is to free ${sizeText(BigInt(expectedBytes))}`;
  const answer = answered ? '' : '; the log has no answer to it';
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

export function resultText(entry: EntryOf<'result'>): EntryText {
  const { outcome, wholeCommand, message } = entry;
  const word = WORDS[outcome];
  if (outcome === 'removed') return { word, text: resultFreedText(entry) };
  if (outcome === 'not-found') return { word, text: 'it was gone already when the node came to it' };
  return { word, text: `${wholeCommand ? 'the whole command: ' : ''}${message ?? outcome}` };
}

/** What the disk says, beside what was reckoned with. */
export const resultFreedText = ({ measured, expectedBytes }: EntryOf<'result'>): string =>
  freedText(freedSpace(measured, expectedBytes), expectedBytes);

export function goneText({ object, commandOpen, otherInstance }: EntryOf<'gone'>): string {
  if (object.kind === 'pod') return 'nothing of it is listed any more';
  if (otherInstance) return 'not listed any more since the node was installed anew';
  return commandOpen
    ? 'not listed any more; a command to remove it has no answer on the log'
    : 'not listed any more, and not removed by FleetGC';
}
