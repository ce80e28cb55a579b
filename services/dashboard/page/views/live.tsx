import { useEffect, useState } from 'preact/hooks';
import type { Activity, ActivityKind, DashboardActivity } from '../../../../schemas/reports/dashboard.ts';
import { addressOfKey, go, objectAddress } from '../addresses.ts';
import { useAnswer, useNews } from '../asking.ts';
import { Table } from '../document.tsx';
import { SearchField, Select, Shown } from '../parts.tsx';

/** More lines than anybody reads make the page slow. */
const MOST_LINES = 300;

/** What is decided and removed now. The filter stands in the address. */
export function LiveView({ query }: { readonly query: URLSearchParams }) {
  const what = query.get('what') ?? '';
  const asked = new URLSearchParams({ limit: '100', ...(isKind(what) && { what }) });
  const [again, setAgain] = useState(0);
  const first = useAnswer<DashboardActivity>(`/api/activity?${asked}`, null, again);
  return (
    <>
      <h1>Live</h1>
      <Shown answered={first}>
        {({ activity }) => (
          <Stream key={what} first={activity} what={what} onMissing={() => setAgain((times) => times + 1)} />
        )}
      </Shown>
    </>
  );
}

const isKind = (text: string): text is ActivityKind => Object.hasOwn(ACTIVITY_TEXT, text);

interface StreamProps {
  readonly first: readonly Activity[];
  readonly what: string;
  readonly onMissing: () => void;
}

function Stream({ first, what, onMissing }: StreamProps) {
  const [lines, setLines] = useState(first);
  const [waiting, setWaiting] = useState<readonly Activity[]>([]);
  const [isPaused, setPaused] = useState(false);
  const [text, setText] = useState('');
  useEffect(() => setLines((before) => newestFirst(before, first)), [first]);
  const isFollowed = useNews(
    'activity',
    ({ activity }) => {
      const wanted = activity.filter((line) => what === '' || line.what === what);
      if (isPaused) setWaiting((before) => newestFirst(before, wanted));
      else setLines((before) => newestFirst(before, wanted));
    },
    onMissing,
  );
  const resume = (): void => {
    setLines((before) => newestFirst(before, waiting));
    setWaiting([]);
    setPaused(false);
  };
  const shown = lines.filter((line) => text === '' || textOf(line).includes(text.toLowerCase()));
  return (
    <>
      <div class="controls">
        <Select
          label="What"
          value={what}
          options={[['', 'everything'], ...Object.entries(ACTIVITY_TEXT)]}
          onChange={(kind) => go(addressFor(kind))}
        />
        <SearchField label="Has" value={text} onInput={setText} />
        <button type="button" aria-pressed={isPaused} onClick={isPaused ? resume : () => setPaused(true)}>
          {isPaused ? `Go on (${waiting.length} new)` : 'Hold still'}
        </button>
      </div>
      {isFollowed ? null : (
        <p class="bad" role="alert">
          What is new does not come in any more; it is tried again.
        </p>
      )}
      <ActivityTable activity={shown} isOfOneNode={false} />
    </>
  );
}

const addressFor = (what: string): string =>
  what === '' ? '/live' : `/live?${new URLSearchParams({ what })}`;

const textOf = ({ node, name, object, rule, because, text }: Activity): string =>
  [node, name, object, rule, because, text].join(' ').toLowerCase();

/** Any line may come twice: from the answer, and as news. */
function newestFirst(before: readonly Activity[], added: readonly Activity[]): readonly Activity[] {
  const lines = new Map([...before, ...added].map((line) => [line.id, line]));
  return [...lines.values()].toSorted((a, b) => b.atMs - a.atMs).slice(0, MOST_LINES);
}

const ACTIVITY_TEXT: Readonly<Record<ActivityKind, string>> = {
  ordered: 'a look was ordered',
  commanded: 'a command was sent',
  'dry-run': 'would go (dry-run)',
  removed: 'removed',
  refused: 'refused',
  failed: 'failed',
  'command-refused': 'command refused',
  'pass-failed': 'ended with errors',
  unrelieved: 'not relieved',
};

/** Lines of what was decided and done. Names and texts are others': they are text, whatever they say. */
export function ActivityTable({
  activity,
  isOfOneNode,
}: {
  readonly activity: readonly Activity[];
  readonly isOfOneNode: boolean;
}) {
  if (activity.length === 0) return <p class="quiet">Nothing in the time that is known.</p>;
  return (
    <Table
      rows={activity}
      keyOf={({ id }) => id}
      columns={[
        ['When', 'time', ({ atMs }) => atMs],
        ...(isOfOneNode
          ? []
          : [['Node', 'text', ({ node }: Activity) => <a href={addressOfKey(node)}>{node}</a>] as const]),
        ['What', 'text', ({ what }) => ACTIVITY_TEXT[what]],
        ['Object', 'text', (line) => <ObjectOf line={line} />],
        ['Why', 'text', whyText],
      ]}
    />
  );
}

const ObjectOf = ({ line: { kind, name, object, node } }: { readonly line: Activity }) =>
  kind === null || object === null ? null : (
    <a href={objectAddress(kind, object, node)}>{`${kind} ${name ?? object}`}</a>
  );

const whyText = ({ rule, because, text }: Activity): string =>
  [rule === null ? '' : `${because ?? ''} (${rule})`, text].filter((part) => part !== '').join('; ');
