import { type Activity, activityLine } from '../../packages/documents/activity.ts';
import { jsonLine } from '../../packages/text/json-text.ts';
import { printableLine } from '../../packages/text/printable.ts';
import { sizeText } from '../../packages/text/size-text.ts';
import { createTally, type NodeTally, nodesByName, type Tally, usedPercent } from './tally.ts';

/** Shows what happens, while it happens. */
export interface View {
  readonly tally: Tally;
  show(activity: Activity): void;
  /** Draws what is new; for views that draw, called several times a second. */
  refresh(): void;
}

type Print = (text: string) => void;

/** One line of text for each thing that happens; for output that is no terminal. */
export function plainView(print: Print): View {
  const { tally, count } = createTally();
  return {
    tally,
    show: (activity) => {
      count(activity);
      const line = activityLine(activity);
      if (line !== null) print(`${activity.node}  ${line}`);
    },
    refresh: () => {},
  };
}

/** One JSON document for each thing that happens; byte counts are decimal text. */
export function jsonView(print: Print): View {
  const { tally, count } = createTally();
  return {
    tally,
    show: (activity) => {
      count(activity);
      print(jsonLine(activity, toJson));
    },
    refresh: () => {},
  };
}

function toJson(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return value instanceof Map ? Object.fromEntries(value) : value;
}

const CLEAR_LINE = '\u001b[2K';
const upBy = (lines: number): string => `\u001b[${lines}A`;

/** A bar for each node, drawn over and over in the same place. `columns` is the width of the terminal. */
export function liveView(print: Print, thresholds: Thresholds, columns: number): View {
  const { tally, count } = createTally();
  const recent = new Map<string, readonly string[]>();
  let drawn = 0;
  return {
    tally,
    show: (activity) => {
      count(activity);
      const line = activityLine(activity);
      if (line !== null)
        recent.set(activity.node, [...(recent.get(activity.node) ?? []), line].slice(-RECENT_LINES));
    },
    refresh: () => {
      const lines = frame(tally, recent, thresholds).map(
        (line) => CLEAR_LINE + printableLine(line).slice(0, columns - 1),
      );
      if (lines.length === 0) return;
      print(`${drawn > 0 ? upBy(drawn) : ''}${lines.join('\n')}`);
      drawn = lines.length;
    },
  };
}

interface Thresholds {
  readonly highPercent: number;
  readonly lowPercent: number;
}

const BAR_CELLS = 50;
/** Lines of each node that stay in sight. */
const RECENT_LINES = 5;

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
function nodeLine(name: string, node: NodeTally, thresholds: Thresholds): string {
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

/** Either lines for people, or documents for machines. */
export interface Output {
  readonly text: (lines: readonly string[]) => void;
  readonly json: (document: object) => void;
}

export const outputFor = (json: boolean, print: (text: string) => void): Output => ({
  text: (lines) => {
    if (!json) for (const line of lines) print(line);
  },
  json: (document) => {
    if (json) print(jsonLine(document));
  },
});

export const indented = (text: string): readonly string[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => `    ${line}`);
