import { timeText } from '../../../../packages/text/time-text.ts';
import type { Explained } from '../../../../schemas/reports/explanation.ts';
import type { EntryOf, TimelineEntry } from '../../../../schemas/reports/timeline.ts';
import { goneText, resultFreedText, ruleText } from './outcome-text.ts';

/** The answer in a sentence or two, before the whole story: how it stands, and by which rule. */
export function standText({ subject, timeline }: Explained): string {
  const { kind, state, lastSeenMs } = subject;
  if (kind === 'node') return `Last heard of at ${timeText(lastSeenMs)}.`;
  if (state === 'there') return `There at the last look (${timeText(lastSeenMs)})${keptText(timeline)}.`;
  if (state === 'removed') return removedText(timeline);
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
