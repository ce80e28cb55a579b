/** A name is given as it is, also where it looks like markup. */
export type Cell = string | { readonly name: string };

export interface Table {
  readonly header: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

export interface Bar {
  readonly label: string;
  readonly value: number;
  readonly text: string;
}

/** A section of a report, before it has a form. */
export interface ReportPart {
  readonly heading: string;
  readonly text: readonly string[];
  /** Left out where it has no row. */
  readonly table: Table | null;
  /** What a plot shows of it, where there is more than one bar. */
  readonly bars: readonly Bar[];
}

/** More would be read by nobody. */
const MOST_ROWS = 50;

/** No table where there is no row. */
export function table(header: readonly string[], rows: readonly (readonly Cell[])[]): Table | null {
  if (rows.length === 0) return null;
  const more = rows.length - MOST_ROWS;
  if (more <= 0) return { header, rows };
  return { header, rows: [...rows.slice(0, MOST_ROWS), [`… and ${more} more; -o json has them all`]] };
}
