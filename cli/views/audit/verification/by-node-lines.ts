import { placeText } from '../../../../packages/audit/events/log-position.ts';
import type { FoundList, NotOurs, Unanswered } from '../../../../packages/audit/verify/findings.ts';

import { timeText } from '../../../../packages/text/time-text.ts';
import { shortIds } from '../short-id.ts';

const MOST_LINES = 20;

/** Node by node and kind by kind: on nodes where others collect too they are many, and nothing is wrong with them. */
export function notOursLines({ total, first }: FoundList<NotOurs>): readonly string[] {
  const groups = [...Map.groupBy(first, ({ node, kind }) => `${node} ${kind}`).values()].toSorted(
    (a, b) => b.length - a.length,
  );
  const shown = groups.slice(0, MOST_LINES);
  const more = total - shown.reduce((sum, group) => sum + group.length, 0);
  return [
    ...shown.map(groupLine),
    ...(more > 0 ? [`… and ${more} more`] : []),
    ...(total > shown.length ? ['-o json names them, up to 1,000 of each kind'] : []),
  ];
}

function groupLine(group: readonly NotOurs[]): string {
  const [only] = group;
  if (only === undefined) return '';
  const { kind, id, node, places } = only;
  const [before, after] = places;
  const where = `${node}  ${kind}`;
  if (group.length === 1)
    return `${where} ${shortIds(id)}  gone by ${timeText(after.timestampMs)}, last seen ${timeText(before.timestampMs)} (${placeText(before)})`;
  const times = group.map(({ places: [, gone] }) => gone.timestampMs);
  const firstMs = times.reduce((a, b) => Math.min(a, b), after.timestampMs);
  const lastMs = times.reduce((a, b) => Math.max(a, b), after.timestampMs);
  return `${where}: ${group.length}, gone by ${timeText(firstMs)}${lastMs > firstMs ? ` to ${timeText(lastMs)}` : ''}`;
}

/** Node by node, those first that live on: there somebody has to look at the executor. */
export function unansweredLines({ total, first }: FoundList<Unanswered>): readonly string[] {
  const groups = [...Map.groupBy(first, ({ node }) => node).values()].toSorted(
    (a, b) => livingOn(b) - livingOn(a) || b.length - a.length,
  );
  const shown = groups.slice(0, MOST_LINES);
  const more = total - shown.reduce((sum, group) => sum + group.length, 0);
  return [...shown.map(nodeLine), ...(more > 0 ? [`… and ${more} more; -o json names them`] : [])];
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
  return `${node}: ${group.length}, last ${timeText(place.timestampMs)} (${placeText(place)}); ${heard}${advice}`;
}
