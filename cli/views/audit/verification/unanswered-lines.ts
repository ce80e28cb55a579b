import { printable } from '../../../../packages/text/printable.ts';
import { timeText } from '../../../../packages/text/time-text.ts';
import type { FoundList } from '../../../../services/audit/verify/collect.ts';
import { placeText, type Unanswered } from '../../../../services/audit/verify/findings.ts';

const MOST_LINES = 20;

/** Node by node, those first that live on: there somebody has to look at the executor. */
export function unansweredLines({ total, first }: FoundList<Unanswered>): readonly string[] {
  const groups = [...Map.groupBy(first, ({ node }) => node).values()].toSorted(
    (a, b) => livingOn(b) - livingOn(a) || b.length - a.length,
  );
  const told = groups.slice(0, MOST_LINES);
  const more = total - told.reduce((sum, group) => sum + group.length, 0);
  return [...told.map(nodeLine), ...(more > 0 ? [`… and ${more} more; -o json names them`] : [])];
}

const livingOn = (group: readonly Unanswered[]): number => Number(group.some(isLivingOn));
const isLivingOn = ({ kind }: Unanswered): boolean => kind === 'node-lives-on';

function nodeLine(group: readonly Unanswered[]): string {
  const last = group.at(-1);
  if (last === undefined) return '';
  const { node, place, heardMs } = last;
  const heard =
    heardMs === null
      ? 'no inventory of the node was read'
      : `the node was heard last at ${timeText(heardMs)}`;
  const advice = group.some(isLivingOn) ? ': it lives on, so look at its executor' : '';
  return `${printable(node)}: ${group.length}, last ${timeText(place.timestampMs)} (${placeText(place)}); ${heard}${advice}`;
}
