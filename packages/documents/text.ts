import { mostOf } from '../process/collections.ts';
import { printableLine } from '../text/printable.ts';

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
