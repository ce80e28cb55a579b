import { sizeText } from '../../../packages/text/size-text.ts';
import type { DashboardFleet, DashboardProgress, NodeState } from '../../../schemas/reports/dashboard.ts';
import { hasSign } from './node-signs.ts';

/** What a state of a node is called. */
export const STATE_TEXT: Readonly<Record<NodeState, string>> = {
  silent: 'silent',
  pressure: 'above its threshold',
  warned: 'has a warning',
  paused: 'paused',
  'keeps-all': 'no policy: keeps everything',
  well: 'well',
};

/** All that is true of a node, the worst first. */
export function stateText(
  columns: Pick<DashboardFleet['columns'], 'state' | 'isPaused' | 'hasPolicy'>,
  position: number,
): string {
  const worst = columns.state[position] ?? 'well';
  const also = (['paused', 'keeps-all'] as const).filter((sign) => hasSign(columns, position, sign));
  return [...new Set([worst, ...also])].map((each) => STATE_TEXT[each]).join('; ');
}

export const usedText = (used: number | null): string => (used === null ? 'unknown' : `${used} %`);

/** As it was measured. */
export const freedText = ({ freedBytes }: { readonly freedBytes: string }): string =>
  sizeText(BigInt(freedBytes));

/** What nobody could measure, as it was estimated; `null` where there is nothing of it. */
export function unmeasuredText(freed: {
  readonly unmeasured: number;
  readonly estimatedBytes: string;
}): string | null {
  if (freed.unmeasured === 0 || freed.estimatedBytes === '0') return null;
  return `and about ${sizeText(BigInt(freed.estimatedBytes))} that nobody could measure`;
}

/** In which of five steps of use something is; from the last the disk is nearly full. */
export function useStep(used: number): 0 | 1 | 2 | 3 | 4 {
  if (used < 50) return 0;
  if (used < 70) return 1;
  if (used < 80) return 2;
  return used < 90 ? 3 : 4;
}

export const countText = (count: number): string => count.toLocaleString('en');

/** When the day, or the month, of the reader began. */
export function beginningOf(what: 'day' | 'month', nowMs: number): number {
  const now = new Date(nowMs);
  return new Date(now.getFullYear(), now.getMonth(), what === 'day' ? now.getDate() : 1).getTime();
}

/** The worst first. */
export const NODE_STATES: readonly NodeState[] = [
  'silent',
  'pressure',
  'warned',
  'paused',
  'keeps-all',
  'well',
];

/** A span of time in its two largest units. */
export function spanText(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  const [days, hours] = [Math.floor(minutes / 1_440), Math.floor((minutes % 1_440) / 60)];
  if (days > 0) return `${days} d ${hours} h`;
  return hours > 0 ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}

/** What there is no room for, in a sentence; `null` where all is shown. */
export function leftOutText({
  nodes,
  clusters,
  inventories,
  names,
}: DashboardProgress['leftOut']): string | null {
  const parts = [
    { count: nodes, text: `${countText(nodes)} more nodes` },
    { count: clusters, text: `${countText(clusters)} more clusters` },
    { count: inventories, text: `the images of ${countText(inventories)} nodes` },
    { count: names, text: `${countText(names)} names in the search` },
  ].filter(({ count }) => count > 0);
  return parts.length === 0 ? null : `no room for: ${parts.map(({ text }) => text).join(', ')}`;
}

/** What no key proves, in a sentence; `null` where nobody looks, or all is proved. */
export function notBelievedText(notBelieved: DashboardProgress['notBelieved']): string | null {
  if (notBelieved === null || notBelieved.records === 0) return null;
  const { records, areShown } = notBelieved;
  return `${countText(records)} reports ${areShown ? 'are shown though' : 'are not shown:'} no key of their node or cluster signed them`;
}
