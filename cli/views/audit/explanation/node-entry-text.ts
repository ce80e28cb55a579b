import { freedSpace } from '../../../../packages/decision/freed-space.ts';
import { sizeText } from '../../../../packages/text/size-text.ts';
import type { DecisionOutcome } from '../../../../schemas/events/decision.ts';
import type { EntryOf } from '../../../../schemas/reports/timeline.ts';
import { freedText } from '../../activity/freed-text.ts';
import { holdersText } from '../../activity/holder-text.ts';
import { type EntryText, reasonText, spreadText } from './values-text.ts';

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
export function decisionText(entry: EntryOf<'decision'>): string {
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

export function commandResultText({ result }: EntryOf<'command-result'>): EntryText {
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

export function notSeenText({ status, problems }: EntryOf<'not-seen'>): string {
  switch (status) {
    case 'too-large':
      return 'too many objects to publish, so nothing is decided';
    case 'incomplete':
      return `the look is not complete: ${problems.map(({ message }) => message).join('; ')}`;
  }
}

export const unrelievedText = ({ holders }: EntryOf<'unrelieved'>): string =>
  `the target was not reached; space is held by ${holdersText(holders)}`;
