import type { DashboardClusters } from '../../../../schemas/reports/dashboard-clusters.ts';
import { clusterAddress } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Shown, Time } from '../parts.tsx';
import { beginningOf, countText, policyText } from '../texts.ts';

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
      <div class="table">
        <table>
          <caption>
            {knownSinceMs === null ? (
              'What was removed is not read yet'
            ) : (
              <>
                What was removed is known since <Time ms={knownSinceMs} />
              </>
            )}
          </caption>
          <thead>
            <tr>
              <th scope="col">Cluster</th>
              <th scope="col">Its agent was heard</th>
              <th scope="col">Policy</th>
              <th scope="col" class="number">
                Objects
              </th>
              <th scope="col" class="number">
                Candidates
              </th>
              <th scope="col" class="number">
                Removed today
              </th>
              <th scope="col" class="number">
                This month
              </th>
              <th scope="col" class="number">
                Held
              </th>
              <th scope="col">What needs somebody</th>
            </tr>
          </thead>
          <tbody>
            {clusters.map((cluster) => (
              <ClusterRow key={cluster.cluster} told={cluster} />
            ))}
          </tbody>
        </table>
      </div>
      {after === null ? null : (
        <p>
          <a href={`/clusters?${new URLSearchParams({ after })}`}>The next clusters</a>
        </p>
      )}
    </>
  );
}

function ClusterRow({ told }: { readonly told: DashboardClusters['clusters'][number] }) {
  const { cluster, heardMs, isSilent, status, candidates, found, removed } = told;
  const [today = 0, month = 0] = removed;
  return (
    <tr>
      <th scope="row">
        <a href={clusterAddress(cluster)}>{cluster}</a>
      </th>
      <td>
        <Time ms={heardMs} /> {isSilent ? <strong class="bad">silent</strong> : null}
      </td>
      <td>{policyText(told)}</td>
      <td class="number">{found === null ? 'not known' : countText(found.objects)}</td>
      <td class="number">{countText(candidates)}</td>
      <td class="number">{countText(today)}</td>
      <td class="number">{countText(month)}</td>
      <td class="number">{status === null ? 'not known' : countText(status.held)}</td>
      <td>
        <Needs told={told} />
      </td>
    </tr>
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
