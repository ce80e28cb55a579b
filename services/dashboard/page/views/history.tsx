import type {
  DashboardHistory,
  HistoryEntry,
  HistoryKind,
} from '../../../../schemas/reports/dashboard-history.ts';
import { go } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Table } from '../document.tsx';
import { Select, Shown } from '../parts.tsx';

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
        <Select
          label="What"
          value={what}
          options={[['', 'everything'], ...Object.entries(KIND_TEXT)]}
          onChange={(kind) => go(addressFor(kind))}
        />
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
    <Table
      rows={entries}
      keyOf={({ id }) => id}
      columns={[
        ['When', 'time', ({ atMs }) => atMs],
        ['What', 'text', (entry) => <What entry={entry} />],
        ['About', 'text', ({ about }) => about],
        ['Who', 'text', ({ by }) => by ?? 'not said'],
        ...(isJudged ? [['Signed by', 'text', signedText] as const] : []),
        ['Why', 'text', ({ reason }) => reason],
      ]}
    />
  );
}

const What = ({ entry: { what, isUnfinished } }: { readonly entry: HistoryEntry }) => (
  <>
    {KIND_TEXT[what]}
    {isUnfinished ? <span class="bad"> – not in force: it was interrupted. Do it again.</span> : null}
  </>
);

function signedText({ what, signedBy, objection }: HistoryEntry) {
  if (objection !== null) return <span class="bad">does not count: {objection}</span>;
  if (signedBy === null) return what === 'put-back' ? 'nobody signs these' : '';
  return `${signedBy.name} (${signedBy.role})`;
}
