import { useEffect, useState } from 'preact/hooks';
import type { DashboardReport, ToldReport } from '../../../../schemas/reports/dashboard-report.ts';
import { go } from '../addresses.ts';
import { useReading } from '../asking.ts';
import { Table } from '../document.tsx';
import { Reading, Shown, Time } from '../parts.tsx';

/** The weekly report, as `fleetgc audit report` makes it. Its time stands in the address. */
export function ReportView({ query }: { readonly query: URLSearchParams }) {
  const range = rangeIn(query);
  const [first] = namedRanges(Date.now());
  useEffect(() => {
    if (range === null && first !== undefined) go(rangeAddress(first), 'replace');
  });
  return (
    <>
      <h1>Report</h1>
      {range === null ? null : (
        <>
          <RangeChoice key={`from ${range.fromMs} ${range.toMs}`} range={range} />
          <Report key={`report ${range.fromMs} ${range.toMs}`} range={range} />
        </>
      )}
    </>
  );
}

function RangeChoice({ range }: { readonly range: ReportRange }) {
  const [from, setFrom] = useState(dayText(range.fromMs));
  const [to, setTo] = useState(range.toMs === null ? '' : dayText(range.toMs - 1));
  const show = (): void => {
    const fromMs = dayBegins(from);
    const toMs = to === '' ? null : dayBegins(to, 1);
    if (fromMs !== null) go(rangeAddress({ fromMs, toMs }));
  };
  return (
    <div class="not-printed">
      <ul class="choices" aria-label="Usual times">
        {namedRanges(Date.now()).map((named) => (
          <li key={named.name}>
            <a
              href={rangeAddress(named)}
              aria-current={named.fromMs === range.fromMs && named.toMs === range.toMs ? 'true' : undefined}
            >
              {named.name}
            </a>
          </li>
        ))}
      </ul>
      <form
        class="controls"
        onSubmit={(event) => {
          event.preventDefault();
          show();
        }}
      >
        <label>
          From the day
          <input type="date" value={from} required onInput={(event) => setFrom(event.currentTarget.value)} />
        </label>
        <label>
          To the end of this day (empty: until now)
          <input type="date" value={to} min={from} onInput={(event) => setTo(event.currentTarget.value)} />
        </label>
        <button type="submit">Make the report</button>
      </form>
    </div>
  );
}

/** Made while it is looked at, and not any more once somebody stops it or leaves. */
function Report({ range }: { readonly range: ReportRange }) {
  const [isStopped, setStopped] = useState(false);
  const { fromMs, toMs } = range;
  const asked = new URLSearchParams({ from: String(fromMs), ...(toMs !== null && { to: String(toMs) }) });
  const answered = useReading<DashboardReport>(isStopped ? null : `/api/report?${asked}`);
  if (isStopped)
    return (
      <p role="status">
        Stopped.{' '}
        <button type="button" onClick={() => setStopped(false)}>
          Make it anyway
        </button>
      </p>
    );
  return (
    <Shown answered={answered}>
      {(report) => (
        <Reading reading={report} onStop={() => setStopped(true)}>
          {(told, readAtMs) => (
            <>
              <Files asked={asked} />
              <p class="quiet">
                Made at <Time ms={readAtMs} />, as <code>fleetgc audit report</code> makes it.
              </p>
              <ReportText report={told} />
            </>
          )}
        </Reading>
      )}
    </Shown>
  );
}

const FORMS = [
  { form: 'html', name: 'HTML' },
  { form: 'markdown', name: 'Markdown' },
  { form: 'json', name: 'JSON' },
  { form: 'ndjson', name: 'NDJSON' },
] as const;

function Files({ asked }: { readonly asked: URLSearchParams }) {
  return (
    <ul class="choices not-printed" aria-label="Take it along">
      {FORMS.map(({ form, name }) => (
        <li key={form}>
          <a href={`/api/report/file?${asked}&form=${form}`} download>
            {name}
          </a>
        </li>
      ))}
      <li>
        <button type="button" onClick={() => print()}>
          Print
        </button>
      </li>
    </ul>
  );
}

type Part = ToldReport['parts'][number];
type Bar = Part['bars'][number];

/** The words of the verb. Whatever stands in them is text. */
function ReportText({ report: { introduction, parts } }: { readonly report: ToldReport }) {
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

type Cell = NonNullable<Part['table']>['rows'][number][number];

const PartTable = ({ table: { header, rows } }: { readonly table: NonNullable<Part['table']> }) => (
  <Table
    rows={rows}
    keyOf={(_, row) => row}
    columns={header.map((heading, column) => [
      heading,
      'text',
      (cells: readonly Cell[]) => <PartCell cell={cells[column] ?? ''} />,
    ])}
  />
);

const PartCell = ({ cell }: { readonly cell: Cell }) =>
  typeof cell === 'string' ? cell : <code>{cell.name}</code>;

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

/** From `fromMs` up to and without `toMs`; `null`: up to now. */
interface ReportRange {
  readonly fromMs: number;
  readonly toMs: number | null;
}

const DAYS_OF_WEEK = 7;
/** Monday, as `Date` counts. */
const FIRST_DAY = 1;

/** When the day of the reader began that lies so many days from today. */
function dayFrom(nowMs: number, days: number): number {
  const now = new Date(nowMs);
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days).getTime();
}

/** When the week of the reader began, so many weeks ago. */
function weekFrom(nowMs: number, weeksAgo: number): number {
  const since = (new Date(nowMs).getDay() - FIRST_DAY + DAYS_OF_WEEK) % DAYS_OF_WEEK;
  return dayFrom(nowMs, -since - weeksAgo * DAYS_OF_WEEK);
}

/** What reports are asked for mostly. */
const namedRanges = (nowMs: number): readonly (ReportRange & { readonly name: string })[] => [
  { name: 'This week', fromMs: weekFrom(nowMs, 0), toMs: null },
  { name: 'Last week', fromMs: weekFrom(nowMs, 1), toMs: weekFrom(nowMs, 0) },
  { name: 'Last seven days', fromMs: dayFrom(nowMs, -DAYS_OF_WEEK), toMs: null },
];

/** With its zone, so that it means the same to whoever gets the address. */
const rangeAddress = ({ fromMs, toMs }: ReportRange): string =>
  `/report?${new URLSearchParams({
    from: new Date(fromMs).toISOString(),
    ...(toMs !== null && { to: new Date(toMs).toISOString() }),
  })}`;

/** `null` where the address names no time. */
function rangeIn(query: URLSearchParams): ReportRange | null {
  const fromMs = Date.parse(query.get('from') ?? '');
  const to = query.get('to');
  const toMs = to === null ? null : Date.parse(to);
  return Number.isNaN(fromMs) || fromMs < 0 || Number.isNaN(toMs) ? null : { fromMs, toMs };
}

/** As an input for days has it: in the reader's zone. */
function dayText(ms: number): string {
  const at = new Date(ms);
  const two = (number: number): string => String(number).padStart(2, '0');
  return `${String(at.getFullYear()).padStart(4, '0')}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** When the day began that an input has, so many days later; `null` where it has none. */
function dayBegins(text: string, daysLater = 0): number | null {
  const [year = 0, month = 0, day = 0] = text.split('-').map(Number);
  const at = new Date(year, month - 1, day + daysLater).getTime();
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(at) ? at : null;
}
