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
