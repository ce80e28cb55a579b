import { useEffect, useMemo, useState } from 'preact/hooks';
import type {
  DashboardFleet,
  DashboardFreed,
  DashboardProgress,
  DashboardStatus,
  NodeState,
} from '../../../../schemas/reports/dashboard.ts';
import { FleetPauses } from '../actions/pauses.tsx';
import { go, nodeAddress } from '../addresses.ts';
import { useActions, useAnswer, useNews } from '../asking.ts';
import { Table } from '../document.tsx';
import { withNews } from '../fleet-news.ts';
import { Fact, SearchField, Section, Select, Shown, Time } from '../parts.tsx';
import {
  beginningOf,
  countSigned,
  countText,
  freedText,
  leftOutText,
  NODE_SIGNS,
  NODE_STATES,
  notBelievedText,
  SIGN_TEXT,
  stateText,
  unmeasuredText,
  usedText,
} from '../texts.ts';
import { HeatMap } from './heat-map-canvas.tsx';

const MINUTE_MS = 60_000;

/** Who can pause finds it at once; for others it is no more than the list of what is paused. */
export function FleetView({ query }: { readonly query: URLSearchParams }) {
  const actions = useActions();
  const group = query.get('group') ?? 'cluster';
  const [again, setAgain] = useState(0);
  const fleet = useAnswer<DashboardFleet>(
    `/api/fleet?${new URLSearchParams({ group })}`,
    5 * MINUTE_MS,
    again,
  );
  return (
    <>
      <h1>Fleet</h1>
      <NeedsSomebody />
      {actions.allowed ? <FleetPauses /> : null}
      <Shown answered={fleet}>
        {(value) => (
          <LiveFleet fleet={value} group={group} onMissing={() => setAgain((times) => times + 1)} />
        )}
      </Shown>
      {actions.allowed ? null : <FleetPauses />}
    </>
  );
}

interface LiveFleetProps {
  readonly fleet: DashboardFleet;
  readonly group: string;
  readonly onMissing: () => void;
}

function LiveFleet({ fleet, group, onMissing }: LiveFleetProps) {
  const [shown, setShown] = useState(fleet);
  useEffect(() => setShown(fleet), [fleet]);
  const isFollowed = useNews('nodes', (news) => setShown((before) => withNews(before, news)), onMissing);
  return (
    <>
      <Facts fleet={shown} />
      {isFollowed ? null : (
        <p class="bad" role="alert">
          What is new does not come in any more; it is tried again.
        </p>
      )}
      <GroupChoice labels={fleet.labels} group={group} />
      <Legend />
      <HeatMap fleet={shown} />
      <NodeList fleet={shown} />
    </>
  );
}

function Facts({ fleet }: { readonly fleet: DashboardFleet }) {
  const { columns } = fleet;
  const counts = useMemo(
    () => ({
      silent: columns.state.filter((each) => each === 'silent').length,
      pressure: columns.state.filter((each) => each === 'pressure').length,
      paused: countSigned(columns, 'paused'),
      keepAll: countSigned(columns, 'keeps-all'),
    }),
    [columns],
  );
  return (
    <dl class="facts">
      <Fact name="Nodes" more={<ReadSoFar />}>
        {countText(columns.node.length)}
      </Fact>
      <Fact name="Silent">{countText(counts.silent)}</Fact>
      <Fact name="Above their threshold">{countText(counts.pressure)}</Fact>
      <Fact name="Paused">{countText(counts.paused)}</Fact>
      <Fact name="Selected by no policy">{countText(counts.keepAll)}</Fact>
      <Freed name="Freed today" what="day" />
      <Freed name="Freed this month" what="month" />
    </dl>
  );
}

function ReadSoFar() {
  const progress = useAnswer<DashboardProgress>('/api/progress', 5_000);
  if (progress.kind !== 'answered') return null;
  const { isCaughtUp, problem } = progress.value;
  if (problem !== null) return <span class="bad">{problem}</span>;
  const warnings = [notBelievedText(progress.value.notBelieved), leftOutText(progress.value.leftOut)];
  return (
    <>
      {isCaughtUp ? 'all that is new is read' : 'reading what is newest …'}
      {warnings
        .filter((text) => text !== null)
        .map((text) => (
          <span key={text} class="bad">
            ; {text}
          </span>
        ))}
    </>
  );
}

function Freed({ name, what }: { readonly name: string; readonly what: 'day' | 'month' }) {
  const from = beginningOf(what, Date.now());
  const freed = useAnswer<DashboardFreed>(`/api/freed?from=${from}`, 30_000);
  if (freed.kind !== 'answered') return <Fact name={name}>…</Fact>;
  const { knownSinceMs, objects } = freed.value;
  const isAll = knownSinceMs !== null && knownSinceMs <= from;
  return (
    <Fact
      name={name}
      more={
        <>
          {[unmeasuredText(freed.value), `${countText(objects)} objects`]
            .filter((text) => text !== null)
            .join('; ')}
          {isAll || knownSinceMs === null ? null : (
            <>
              ; known since <Time ms={knownSinceMs} />
            </>
          )}
        </>
      }
    >
      {freedText(freed.value)}
    </Fact>
  );
}

/** The problems that `fleetgc status` tells, the worst first. That nobody knows them is no sign that there are none. */
function NeedsSomebody() {
  const answered = useAnswer<DashboardStatus>('/api/status', 15_000);
  return (
    <Section id="problems" heading="What needs somebody">
      <Shown answered={answered}>
        {({ status }) =>
          status === null ? (
            <p class="quiet">Not known: it is not read yet, or this is an archive.</p>
          ) : (
            <Problems {...status} />
          )
        }
      </Shown>
    </Section>
  );
}

function Problems({ problems, readAtMs }: NonNullable<DashboardStatus['status']>) {
  if (problems.length === 0)
    return (
      <p>
        Nothing, as of <Time ms={readAtMs} />.
      </p>
    );
  return (
    <>
      <ul class="problems">
        {problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
      <p class="quiet">
        As of <Time ms={readAtMs} />.
      </p>
    </>
  );
}

function GroupChoice({ labels, group }: { readonly labels: readonly string[]; readonly group: string }) {
  return (
    <div class="controls">
      <Select
        label="Grouped by"
        value={group}
        options={[
          ['cluster', 'cluster'],
          ['pool', 'pool'],
          ['policy', 'policy'],
          ...labels.map((label) => [`label:${label}`, `label ${label}`] as const),
        ]}
        onChange={(chosen) => go(`/fleet?${new URLSearchParams({ group: chosen })}`)}
      />
    </div>
  );
}

const USES = ['below 50 %', '50 % to 69 %', '70 % to 79 %', '80 % to 89 %', '90 % and more'];

function Legend() {
  return (
    <ul class="legend" aria-label="What the colours and signs mean">
      {USES.map((text, step) => (
        <li key={text}>
          <i class={`use-${step}`} />
          {text}
        </li>
      ))}
      <li>
        <i class="unknown" />
        cannot be read
      </li>
      <li>
        <i class="silent" />
        silent
      </li>
      {NODE_SIGNS.map((sign) => (
        <li key={sign}>
          <i class={sign} />
          {SIGN_TEXT[sign]}
        </li>
      ))}
    </ul>
  );
}

const ON_A_PAGE = 50;

/** Every node in a table, the fullest or the worst first: what the heat map shows, for everybody. */
function NodeList({ fleet }: { readonly fleet: DashboardFleet }) {
  const [text, setText] = useState('');
  const [order, setOrder] = useState<Order>('used');
  const [page, setPage] = useState(0);
  const found = useMemo(() => ordered(fleet, text, order), [fleet, text, order]);
  const pages = Math.max(1, Math.ceil(found.length / ON_A_PAGE));
  const shown = Math.min(page, pages - 1);
  const { columns } = fleet;
  return (
    <Section id="nodes" heading="Nodes">
      <div class="controls">
        <SearchField label="Name has" value={text} onInput={setText} />
        <Select
          label="First"
          value={order}
          options={ORDERS.map((each) => [each.order, each.text])}
          onChange={(chosen) => setOrder(orderOf(chosen))}
        />
        <button type="button" disabled={shown === 0} onClick={() => setPage(shown - 1)}>
          Before
        </button>
        <button type="button" disabled={shown >= pages - 1} onClick={() => setPage(shown + 1)}>
          Next
        </button>
        <span class="quiet" role="status">
          {countText(found.length)} nodes, page {shown + 1} of {pages}
        </span>
      </div>
      <Table
        rows={found.slice(shown * ON_A_PAGE, (shown + 1) * ON_A_PAGE)}
        keyOf={(position) => position}
        columns={[
          ['Cluster', 'text', (position) => clusterOf(fleet, position)],
          [
            'Node',
            'text',
            (position) => {
              const node = columns.node[position] ?? '';
              return <a href={nodeAddress(clusterOf(fleet, position), node)}>{node}</a>;
            },
          ],
          ['Used', 'count', (position) => usedText(columns.used[position] ?? null)],
          ['State', 'text', (position) => stateText(columns, position)],
        ]}
      />
    </Section>
  );
}

const clusterOf = ({ columns, clusters }: DashboardFleet, position: number): string =>
  clusters[columns.cluster[position] ?? 0] ?? '';

const ORDERS = [
  { order: 'used', text: 'the fullest' },
  { order: 'state', text: 'what needs somebody' },
  { order: 'name', text: 'by name' },
] as const;
type Order = (typeof ORDERS)[number]['order'];

const orderOf = (value: string): Order => ORDERS.find(({ order }) => order === value)?.order ?? 'used';

function ordered({ columns, clusters }: DashboardFleet, text: string, order: Order): readonly number[] {
  const wanted = text.toLowerCase();
  const found: number[] = [];
  columns.node.forEach((node, position) => {
    const name = `${clusters[columns.cluster[position] ?? 0]}/${node}`;
    if (wanted === '' || name.toLowerCase().includes(wanted)) found.push(position);
  });
  if (order === 'name') return found;
  const used = (position: number): number => columns.used[position] ?? -1;
  const worst = (position: number): number => rank(columns.state[position] ?? 'well');
  return order === 'used'
    ? found.toSorted((a, b) => used(b) - used(a))
    : found.toSorted((a, b) => worst(a) - worst(b) || used(b) - used(a));
}

const rank = (state: NodeState): number => NODE_STATES.indexOf(state);
