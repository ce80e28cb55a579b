/**
 * How a column is read. `name`: what the row is about. `time`: epoch milliseconds. `count` and `size` are numbers, a size in bytes. A cell
 * that is a text is shown as it is, whatever its column holds otherwise: `not measured`.
 */
export type ColumnKind = 'text' | 'name' | 'time' | 'count' | 'size';

/** A column of a table over rows of one kind. */
export type Column<Row, Heading, Shown> = readonly [
  heading: Heading,
  kind: ColumnKind,
  cell: (row: Row) => Shown,
];

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

export interface Section {
  readonly heading: string;
  readonly text: readonly string[];
  /** Left out where it has no row. */
  readonly table: Table | null;
  /** What a plot shows of it, where there is more than one bar. */
  readonly bars: readonly Bar[];
}

/** What a person is shown, before it has a form. */
export interface Document {
  readonly title: string;
  readonly introduction: readonly string[];
  readonly sections: readonly Section[];
}

/** `text`: its sentences. */
export const section = (
  heading: string,
  { text = [], table = null, bars = [] }: Partial<Omit<Section, 'heading'>>,
): Section => ({ heading, text, table, bars });
