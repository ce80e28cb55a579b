import { printable } from '../../../../packages/text/printable.ts';
import { timeText } from '../../../../packages/text/time-text.ts';
import type { FoundList } from '../../../../services/audit/verify/collect.ts';
import { type NotOurs, placeText } from '../../../../services/audit/verify/findings.ts';
import { shortIds } from '../short-id.ts';

const MOST_LINES = 20;

/** Node by node and kind by kind: on nodes where others collect too they are many, and nothing is wrong with them. */
export function notOursLines({ total, first }: FoundList<NotOurs>): readonly string[] {
  const groups = [...Map.groupBy(first, ({ node, kind }) => `${node} ${kind}`).values()].toSorted(
    (a, b) => b.length - a.length,
  );
  const told = groups.slice(0, MOST_LINES);
  const more = total - told.reduce((sum, group) => sum + group.length, 0);
  return [
    ...told.map(groupLine),
    ...(more > 0 ? [`… and ${more} more`] : []),
    ...(total > told.length ? ['-o json names them, up to 1,000 of each kind'] : []),
  ];
}

function groupLine(group: readonly NotOurs[]): string {
  const [only] = group;
  if (only === undefined) return '';
  const { kind, id, node, places } = only;
  const [before, after] = places;
  const where = `${printable(node)}  ${kind}`;
  if (group.length === 1)
    return `${where} ${printable(shortIds(id))}  gone by ${timeText(after.timestampMs)}, last seen ${timeText(before.timestampMs)} (${placeText(before)})`;
  const times = group.map(({ places: [, gone] }) => gone.timestampMs);
  const firstMs = times.reduce((a, b) => Math.min(a, b), after.timestampMs);
  const lastMs = times.reduce((a, b) => Math.max(a, b), after.timestampMs);
  return `${where}: ${group.length}, gone by ${timeText(firstMs)}${lastMs > firstMs ? ` to ${timeText(lastMs)}` : ''}`;
}
