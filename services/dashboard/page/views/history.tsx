import type {
  DashboardHistory,
  HistoryEntry,
  HistoryKind,
} from '../../../../schemas/reports/dashboard-history.ts';
import { go } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Shown, Time } from '../parts.tsx';

const EVERY_MS = 15_000;

const KIND_TEXT: Readonly<Record<HistoryKind, string>> = {
  paused: 'paused',
  resumed: 'resumed',
  approved: 'approved',
  withdrawn: 'approval withdrawn',
  'policy-applied': 'policy applied',
  'policy-deleted': 'policy deleted',
  'put-back': 'dead letter put back',
};

/** What people did, and why. The filter and the page stand in the address. */
export function HistoryView({ query }: { readonly query: URLSearchParams }) {
  const what = query.get('what') ?? '';
  const before = query.get('before') ?? '';
  const asked = new URLSearchParams({ ...(what !== '' && { what }), ...(before !== '' && { before }) });
  const answered = useAnswer<DashboardHistory>(`/api/history?${asked}`, EVERY_MS);
  return (
    <>
      <h1>What people did</h1>
      <div class="controls">
        <label>
          What
          <select value={what} onChange={(event) => go(addressFor(event.currentTarget.value))}>
            <option value="">everything</option>
            {Object.entries(KIND_TEXT).map(([kind, name]) => (
              <option key={kind} value={kind}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Shown answered={answered}>
        {(history) => (
          <>
            {history.isJudged ? null : (
              <p class="quiet">
                Nobody looks at signatures here: names are as people gave them. With --trust-roots each line
                says whose key signed it.
              </p>
            )}
            <Entries entries={history.entries} isJudged={history.isJudged} />
            {history.before === null ? null : (
              <p>
                <a href={addressFor(what, history.before)}>Earlier</a>
              </p>
            )}
          </>
        )}
      </Shown>
    </>
  );
}

const addressFor = (what: string, before = ''): string => {
  const query = new URLSearchParams({ ...(what !== '' && { what }), ...(before !== '' && { before }) });
  return query.size === 0 ? '/history' : `/history?${query}`;
};

interface EntriesProps {
  readonly entries: readonly HistoryEntry[];
  readonly isJudged: boolean;
}

function Entries({ entries, isJudged }: EntriesProps) {
  if (entries.length === 0) return <p class="quiet">Nothing in the time that is known.</p>;
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">What</th>
            <th scope="col">About</th>
            <th scope="col">Who</th>
            {isJudged ? <th scope="col">Signed by</th> : null}
            <th scope="col">Why</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={entry.id}>
              <td>
                <Time ms={entry.atMs} />
              </td>
              <td>
                {KIND_TEXT[entry.what]}
                {entry.isUnfinished ? (
                  <span class="bad"> – not in force: it was interrupted. Do it again.</span>
                ) : null}
              </td>
              <td>{entry.about}</td>
              <td>{entry.by ?? 'not said'}</td>
              {isJudged ? <td>{signedText(entry)}</td> : null}
              <td>{entry.reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function signedText({ what, signedBy, objection }: HistoryEntry) {
  if (objection !== null) return <span class="bad">does not count: {objection}</span>;
  if (signedBy === null) return what === 'put-back' ? 'nobody signs these' : '';
  return `${signedBy.name} (${signedBy.role})`;
}
