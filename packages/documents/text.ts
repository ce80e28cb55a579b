import { mostOf } from '../process/collections.ts';
import { printableLine } from '../text/printable.ts';
import { sizeText } from '../text/size-text.ts';
import { timeText } from '../text/time-text.ts';
import type { Column, ColumnKind } from './document.ts';

const GAP = 3;
/** Longer cells are not padded to: one cell as long as a message may be would make every line that long. */
const MOST_COLUMNS = 300;

/** Columns as wide as their widest cell, with no space at the ends of lines. */
export function tableLines(
  header: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  const all = [header, ...rows].map((cells) => cells.map(printableLine));
  const widths = header.map((_, column) =>
    Math.min(MOST_COLUMNS, mostOf(all.map((cells) => cells[column]?.length ?? 0))),
  );
  return all.map((cells) =>
    cells
      .map((cell, column) => `${cell.padEnd(widths[column] ?? 0)}${' '.repeat(GAP)}`)
      .join('')
      .trimEnd(),
  );
}

/** A table of text, by the columns of its rows: headings in capitals, sizes with their unit, times in UTC. */
export const tableOf = <Row>(
  rows: readonly Row[],
  columns: readonly Column<Row, string, string | number | bigint>[],
): readonly string[] =>
  tableLines(
    columns.map(([heading]) => heading.toUpperCase()),
    rows.map((row) => columns.map(([, kind, cell]) => cellText(kind, cell(row)))),
  );

function cellText(kind: ColumnKind, cell: string | number | bigint): string {
  if (kind === 'time' && typeof cell === 'number') return timeText(cell);
  return kind === 'size' && typeof cell === 'bigint' ? sizeText(cell) : String(cell);
}
