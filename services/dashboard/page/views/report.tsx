import { useEffect, useState } from 'preact/hooks';
import type { DashboardReport } from '../../../../schemas/reports/dashboard-report.ts';
import { go } from '../addresses.ts';
import { useReading } from '../asking.ts';
import { Shown, Time } from '../parts.tsx';
import { dayBegins, dayText, namedRanges, type ReportRange, rangeAddress, rangeIn } from '../weeks.ts';
import { Reading } from './reading.tsx';
import { ReportText } from './report-text.tsx';

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
