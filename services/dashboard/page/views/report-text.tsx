import type { ToldReport } from '../../../../schemas/reports/dashboard-report.ts';

type Part = ToldReport['parts'][number];
type Bar = Part['bars'][number];

/** The words of the verb. Whatever stands in them is text. */
export function ReportText({ report: { introduction, parts } }: { readonly report: ToldReport }) {
  return (
    <article class="report">
      <p>{introduction.join(' ')}</p>
      {parts.map((part) => (
        <section key={part.heading}>
          <h2>{part.heading}</h2>
          {part.text.length === 0 ? null : <p>{part.text.join(' ')}</p>}
          {part.bars.length > 1 ? <Plot part={part} /> : null}
          {part.table === null ? null : <PartTable table={part.table} />}
        </section>
      ))}
    </article>
  );
}

function PartTable({ table: { header, rows } }: { readonly table: NonNullable<Part['table']> }) {
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            {header.map((cell) => (
              <th key={cell} scope="col">
                {cell}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, column) => (
                <td key={column}>{typeof cell === 'string' ? cell : <code>{cell.name}</code>}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const WIDTH = 900;
const ROW = 22;
const LABEL = 300;
const VALUE = 110;

/** The bars of the verb's own HTML; the table has the same numbers. */
function Plot({ part: { heading, bars } }: { readonly part: Part }) {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${WIDTH} ${bars.length * ROW}`}
      role="img"
      aria-label={plotText(heading, bars)}
    >
      {bars.map(({ label, value, text }, row) => {
        const length = Math.round((Math.max(0, value) / most) * (WIDTH - LABEL - VALUE));
        return (
          <g key={label}>
            <text x={LABEL - 8} y={row * ROW + 15} text-anchor="end">
              {label}
            </text>
            <rect x={LABEL} y={row * ROW + 3} width={length} height={ROW - 6} />
            <text x={LABEL + length + 6} y={row * ROW + 15}>
              {text}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

const MOST_TOLD = 12;

const plotText = (heading: string, bars: readonly Bar[]): string =>
  `${heading}: ${bars
    .slice(0, MOST_TOLD)
    .map(({ label, text }) => `${label} ${text}`)
    .join('; ')}${bars.length > MOST_TOLD ? '; and more' : ''}`;
