import { useState } from 'preact/hooks';
import type {
  DashboardCluster,
  DashboardClusterObjects,
  DashboardClusterOutcomes,
} from '../../../../schemas/reports/dashboard-clusters.ts';
import { clusterAddress, clusterObjectAddress, go } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Table } from '../document.tsx';
import { Fact, SearchField, Section, Select, Shown, Time } from '../parts.tsx';
import { beginningOf, countText, GRAPH_STATE_TEXT, nameText, policyText } from '../texts.ts';
import { Census, Findings, Unread } from './cluster-findings.tsx';
import { HeldSection } from './cluster-held.tsx';
import { Needs } from './clusters.tsx';

const EVERY_MS = 30_000;

interface Named {
  readonly cluster: string;
}

/** One cluster, as its agent and its executor tell of it. */
export function ClusterView({ cluster, query }: Named & { readonly query: URLSearchParams }) {
  const told = useAnswer<DashboardCluster>(`/api/cluster?${new URLSearchParams({ cluster })}`, EVERY_MS);
  return (
    <>
      <p>
        <a href="/clusters">All clusters</a>
      </p>
      <h1>{cluster}</h1>
      <Shown answered={told}>
        {(value) => (
          <>
            <Facts told={value} />
            <Census told={value} />
            <HeldSection told={value} />
            <Findings told={value} />
            <Unread told={value} />
          </>
        )}
      </Shown>
      <Outcomes cluster={cluster} />
      <Objects cluster={cluster} query={query} />
      <Leftovers />
    </>
  );
}

function Facts({ told }: { readonly told: DashboardCluster }) {
  const { heardMs, isSilent, status, toldBy, census, candidates } = told;
  return (
    <>
      <dl class="facts">
        <Fact name="Its agent was heard" more={isSilent ? <span class="bad">silent</span> : undefined}>
          <Time ms={heardMs} />
        </Fact>
        <Fact
          name="Objects"
          more={census === null ? undefined : `of ${countText(census.totals.kinds)} kinds`}
        >
          {census === null ? 'not known' : countText(census.totals.objects)}
        </Fact>
        <Fact name="Candidates" more="objects with owners, reported in the last quarter of an hour">
          {countText(candidates)}
        </Fact>
        <Fact name="Policy">{policyText(told)}</Fact>
        <Fact name="Held" more={status?.heldSinceMs ? <Time ms={status.heldSinceMs} /> : undefined}>
          {status === null ? 'not known' : countText(status.held)}
        </Fact>
        <Fact name="Commands without an answer" more="of the last half hour">
          {status === null ? 'not known' : countText(status.unanswered)}
        </Fact>
      </dl>
      <h2>What needs somebody</h2>
      <Needs told={told} />
      {toldBy === null ? null : (
        <p class="quiet">
          Its agent reports as session {toldBy.session}, since <Time ms={toldBy.sinceMs} /> or earlier.
          Another session begins with each start of an agent. Which replica holds the Lease is not on the
          event log:{' '}
          <code>
            kubectl get leases --all-namespaces --field-selector metadata.name=fleetgc-cluster-agent
          </code>{' '}
          asks the cluster.
        </p>
      )}
    </>
  );
}

const TIMES = [
  ['day', 'today'],
  ['month', 'this month'],
] as const;

/** What was done, by kind and rule. */
function Outcomes({ cluster }: Named) {
  const [what, setWhat] = useState<'day' | 'month'>('day');
  const from = beginningOf(what, Date.now());
  const asked = new URLSearchParams({ cluster, from: String(from) });
  const outcomes = useAnswer<DashboardClusterOutcomes>(`/api/cluster/outcomes?${asked}`, EVERY_MS);
  return (
    <Section id="removed" heading="What was removed">
      <div class="controls">
        <Select
          label="Since the beginning of"
          value={what}
          options={TIMES}
          onChange={(text) => setWhat(text === 'day' ? 'day' : 'month')}
        />
      </div>
      <Shown answered={outcomes}>{(value) => <OutcomeTables told={value} />}</Shown>
    </Section>
  );
}

function OutcomeTables({ told }: { readonly told: DashboardClusterOutcomes }) {
  const { removed, changed, refused, failed, goneAlready, rehearsed, knownSinceMs, fromMs } = told;
  const done = [
    ...removed.map((row) => ({
      ...row,
      what: row.waiting > 0 ? `deleted, of them ${countText(row.waiting)} wait for finalizers` : 'deleted',
    })),
    ...changed.map((row) => ({ ...row, ownRule: null, what: 'changed, and stays' })),
  ];
  const notDone = [
    ...refused.map((row) => ({ ...row, what: 'refused' })),
    ...failed.map((row) => ({ ...row, what: 'failed' })),
  ];
  return (
    <>
      {knownSinceMs !== null && knownSinceMs > fromMs ? (
        <p class="quiet">
          What was removed is known since <Time ms={knownSinceMs} />.
        </p>
      ) : null}
      {done.length === 0 ? (
        <p>Nothing was removed or changed.</p>
      ) : (
        <Table
          caption="By kind and rule"
          rows={done}
          keyOf={({ kind, rule, ownRule, what }) => `${kind} ${rule} ${ownRule} ${what}`}
          columns={[
            ['Kind', 'name', ({ kind }) => kind],
            ['Rule', 'text', ({ because, rule }) => `${because} (${rule})`],
            [
              'Who would do it without FleetGC',
              'text',
              ({ collector, ownRule }) =>
                collector ?? (ownRule === null ? '' : `rule ${ownRule} of the policy`),
            ],
            ['What was done', 'text', ({ what }) => what],
            ['Objects', 'count', ({ objects }) => objects],
          ]}
        />
      )}
      {notDone.length === 0 ? null : (
        <Table
          caption="What was not done"
          rows={notDone}
          keyOf={({ kind, what, reason }) => `${kind} ${what} ${reason}`}
          columns={[
            ['Kind', 'name', ({ kind }) => kind],
            ['What', 'text', ({ what }) => what],
            ['Why', 'text', ({ reason }) => reason],
            ['Objects', 'count', ({ objects }) => objects],
          ]}
        />
      )}
      {goneAlready > 0 ? <p>{countText(goneAlready)} were gone already: somebody was quicker.</p> : null}
      {rehearsed > 0 ? <p>{countText(rehearsed)} were rehearsed: the API server would do it.</p> : null}
    </>
  );
}

/** Objects of which the log told, and a search among them. */
function Objects({ cluster, query }: Named & { readonly query: URLSearchParams }) {
  const asked = query.get('q')?.trim() ?? '';
  const [text, setText] = useState(asked);
  const objects = useAnswer<DashboardClusterObjects>(
    `/api/cluster/objects?${new URLSearchParams({ cluster, q: asked })}`,
    EVERY_MS,
  );
  return (
    <Section id="objects" heading="Objects">
      <p class="quiet">
        The event log names only objects with owners for which something may have to be done, and their
        owners. Those of the last three days are here.
      </p>
      <form
        class="controls"
        onSubmit={(event) => {
          event.preventDefault();
          go(`${clusterAddress(cluster)}?${new URLSearchParams({ q: text })}`);
        }}
      >
        <SearchField
          label="Name, kind, or the beginning of a uid"
          value={text}
          maxLength={300}
          onInput={setText}
        />
        <button type="submit">Search</button>
      </form>
      <Shown answered={objects}>{(value) => <ObjectTable cluster={cluster} told={value} />}</Shown>
    </Section>
  );
}

function ObjectTable({
  cluster,
  told: { objects, isAll },
}: Named & { readonly told: DashboardClusterObjects }) {
  if (objects.length === 0) return <p role="status">There is no such object.</p>;
  return (
    <Table
      caption={isAll ? `${objects.length} objects` : `The ${objects.length} that were reported last`}
      rows={objects}
      keyOf={({ uid }) => uid}
      columns={[
        [
          'Object',
          'name',
          (object) => <a href={clusterObjectAddress(cluster, object.uid)}>{nameText(object)}</a>,
        ],
        ['Kind', 'text', ({ kind }) => kind],
        ['How it stands', 'text', ({ state }) => GRAPH_STATE_TEXT[state]],
        ['Last reported at', 'time', ({ toldMs }) => toldMs],
      ]}
    />
  );
}

function Leftovers() {
  return (
    <Section id="leftovers" heading="What seems to be left over">
      <p>
        Released volumes, Jobs beyond their history limits, Nodes and Leases of which nothing is heard, and
        ConfigMaps and Secrets that nothing names are not on the event log. This asks the cluster itself:
      </p>
      <code class="command">fleetgc cluster leftovers --kubeconfig ~/.kube/config</code>
    </Section>
  );
}
