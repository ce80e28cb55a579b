import { useEffect, useState } from 'preact/hooks';
import type { Activity, ActivityKind, DashboardActivity } from '../../../../schemas/reports/dashboard.ts';
import { go } from '../addresses.ts';
import { useAnswer, useNews } from '../asking.ts';
import { Shown } from '../parts.tsx';
import { ACTIVITY_TEXT, ActivityTable } from './activity-table.tsx';

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
        <label>
          What
          <select value={what} onChange={(event) => go(addressFor(event.currentTarget.value))}>
            <option value="">everything</option>
            {Object.entries(ACTIVITY_TEXT).map(([kind, name]) => (
              <option key={kind} value={kind}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          Has
          <input
            type="search"
            value={text}
            maxLength={200}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
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
