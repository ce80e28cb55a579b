import { sizeText } from '../../packages/text/size-text.ts';
import { type NodeTally, nodesByName, type Tally, usedPercent } from './tally.ts';

export interface Thresholds {
  readonly highPercent: number;
  readonly lowPercent: number;
}

const BAR_CELLS = 50;
/** Lines of each node that stay in sight. */
export const RECENT_LINES = 5;

/** The live view: a bar for each node, and what happened there lately. */
export function frame(
  tally: Tally,
  recent: ReadonlyMap<string, readonly string[]>,
  thresholds: Thresholds,
): string[] {
  return nodesByName(tally).flatMap(([name, node]) => {
    const lines = recent.get(name) ?? [];
    const blank = Array.from({ length: RECENT_LINES - lines.length }, () => '');
    return [nodeLine(name, node, thresholds), ...lines.map((line) => `    ${line}`), ...blank, ''];
  });
}

/** One node on one line: its bar with the two thresholds in it, and how full that is. */
export function nodeLine(name: string, node: NodeTally, thresholds: Thresholds): string {
  const percent = usedPercent(node);
  return `${name}  [${bar(percent, thresholds)}] ${String(percent).padStart(3)} %  ${sizeText(node.usedBytes)} of ${sizeText(node.capacityBytes)}`;
}

function bar(percent: number, { highPercent, lowPercent }: Thresholds): string {
  const marks = new Map([
    [cellOf(lowPercent), '┊'],
    [cellOf(highPercent), '┃'],
  ]);
  const used = cellOf(percent);
  return Array.from({ length: BAR_CELLS }, (_, cell) => marks.get(cell) ?? (cell < used ? '█' : '·')).join(
    '',
  );
}

const cellOf = (percent: number): number => Math.min(BAR_CELLS, Math.floor((percent * BAR_CELLS) / 100));
