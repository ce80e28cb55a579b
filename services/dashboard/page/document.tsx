import type { ComponentChildren } from 'preact';
import type { Column, ColumnKind } from '../../../packages/documents/document.ts';
import { sizeText } from '../../../packages/text/size-text.ts';
import { Time } from './parts.tsx';
import { countText } from './texts.ts';

interface TableProps<Row> {
  readonly columns: readonly Column<Row, ComponentChildren, ComponentChildren>[];
  readonly rows: readonly Row[];
  /** What tells a row from all others, also once there are more of them. */
  readonly keyOf: (row: Row, index: number) => string | number;
  readonly caption?: ComponentChildren;
  readonly sorted?: { readonly column: number; readonly order: 'ascending' | 'descending' };
}

/** Every table of the page. Whatever stands in a cell is text, unless the column makes a link or a button of it. */
export function Table<Row>({ columns, rows, keyOf, caption, sorted }: TableProps<Row>) {
  return (
    <div class="table">
      <table>
        {caption === undefined || caption === null ? null : <caption>{caption}</caption>}
        <thead>
          <tr>
            {columns.map(([heading, kind], column) => (
              <th
                key={column}
                scope="col"
                class={classOf(kind)}
                aria-sort={sorted?.column === column ? sorted.order : undefined}
              >
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={keyOf(row, index)}>
              {columns.map(([, kind, cell], column) =>
                kind === 'name' ? (
                  <th key={column} scope="row">
                    {cell(row)}
                  </th>
                ) : (
                  <td key={column} class={classOf(kind)}>
                    {shownAs(kind, cell(row))}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const classOf = (kind: ColumnKind): string | undefined =>
  kind === 'count' || kind === 'size' ? 'number' : undefined;

function shownAs(kind: ColumnKind, cell: ComponentChildren): ComponentChildren {
  if (kind === 'time' && typeof cell === 'number') return <Time ms={cell} />;
  if (kind === 'count' && typeof cell === 'number') return countText(cell);
  return kind === 'size' && typeof cell === 'bigint' ? sizeText(cell) : cell;
}
