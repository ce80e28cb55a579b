import type { DashboardClusters } from '../../../../schemas/reports/dashboard-clusters.ts';
import { clusterAddress } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Table } from '../document.tsx';
import { Shown, Time } from '../parts.tsx';
import { beginningOf, policyText } from '../texts.ts';

const EVERY_MS = 15_000;

/** Every cluster, and what needs somebody there. */
export function ClustersView({ query }: { readonly query: URLSearchParams }) {
  const nowMs = Date.now();
  const asked = new URLSearchParams({
    since: `${beginningOf('day', nowMs)},${beginningOf('month', nowMs)}`,
    ...(query.get('after') && { after: query.get('after') ?? '' }),
  });
  const clusters = useAnswer<DashboardClusters>(`/api/clusters?${asked}`, EVERY_MS);
  return (
    <>
      <h1>Clusters</h1>
      <Shown answered={clusters}>{(value) => <Clusters told={value} />}</Shown>
    </>
  );
}

function Clusters({ told }: { readonly told: DashboardClusters }) {
  const { clusters, after, knownSinceMs } = told;
  if (clusters.length === 0)
    return (
      <p>
        No cluster has reported on this event log. An agent reports within a minute after it has read
        everything.
      </p>
    );
  return (
    <>
      <Table
        caption={
          knownSinceMs === null ? (
            'What was removed is not read yet'
          ) : (
            <>
              What was removed is known since <Time ms={knownSinceMs} />
            </>
          )
        }
        rows={clusters}
        keyOf={({ cluster }) => cluster}
        columns={[
          ['Cluster', 'name', ({ cluster }) => <a href={clusterAddress(cluster)}>{cluster}</a>],
          [
            'Its agent was heard',
            'time',
            ({ heardMs, isSilent }) => (
              <>
                <Time ms={heardMs} /> {isSilent ? <strong class="bad">silent</strong> : null}
              </>
            ),
          ],
          ['Policy', 'text', policyText],
          ['Objects', 'count', ({ found }) => found?.objects ?? 'not known'],
          ['Candidates', 'count', ({ candidates }) => candidates],
          ['Removed today', 'count', ({ removed: [today = 0] }) => today],
          ['This month', 'count', ({ removed: [, month = 0] }) => month],
          ['Held', 'count', ({ status }) => status?.held ?? 'not known'],
          ['What needs somebody', 'text', (cluster) => <Needs told={cluster} />],
        ]}
      />
      {after === null ? null : (
        <p>
          <a href={`/clusters?${new URLSearchParams({ after })}`}>The next clusters</a>
        </p>
      )}
    </>
  );
}

/** The warnings of `fleetgc status`; of a cluster that it does not know, that it is silent. */
export function Needs({
  told,
}: {
  readonly told: Pick<DashboardClusters['clusters'][number], 'status' | 'isSilent'>;
}) {
  const { status, isSilent } = told;
  const messages =
    status?.warnings.map(({ message }) => message) ??
    (isSilent ? ['its agent was not heard in the last day'] : []);
  if (messages.length === 0) return <>nothing</>;
  return (
    <ul class="problems">
      {messages.map((message) => (
        <li key={message}>{message}</li>
      ))}
    </ul>
  );
}
