import type {
  DashboardObjectLife,
  DashboardOwnerGraph,
  GraphObject,
} from '../../../../schemas/reports/dashboard-clusters.ts';
import { clusterAddress, clusterObjectAddress } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { GRAPH_STATE_TEXT, nameText, REFERENCE_TEXT } from '../cluster-texts.ts';
import { type Listed, listGraph } from '../owner-graph.ts';
import { Fact, Shown, Time } from '../parts.tsx';
import { countText } from '../texts.ts';
import { ObjectLife } from './cluster-life.tsx';
import { listId, OwnerGraphSvg } from './owner-graph-svg.tsx';

const EVERY_MS = 30_000;

interface Named {
  readonly cluster: string;
  readonly uid: string;
}

/** One object of a cluster: its owner graph, and what happened to it. */
export function ClusterObjectView({ cluster, uid }: Named) {
  const asked = new URLSearchParams({ cluster, uid });
  const graph = useAnswer<DashboardOwnerGraph>(`/api/cluster/graph?${asked}`, EVERY_MS);
  const life = useAnswer<DashboardObjectLife>(`/api/cluster/life?${asked}`, null);
  return (
    <>
      <p>
        <a href={clusterAddress(cluster)}>Cluster {cluster}</a>
      </p>
      {graph.kind === 'refused' && graph.status === 404 ? (
        <>
          <h1>Object {uid}</h1>
          <p>
            The event log of the last three days names no owner and no dependent of it. What it tells of
            earlier days stands below.
          </p>
        </>
      ) : (
        <Shown answered={graph}>{(value) => <Graph graph={value} />}</Shown>
      )}
      <section aria-labelledby="life">
        <h2 id="life">What happened to it</h2>
        <Shown answered={life}>{(value) => <ObjectLife told={value} />}</Shown>
      </section>
    </>
  );
}

function Graph({ graph }: { readonly graph: DashboardOwnerGraph }) {
  const [object] = graph.objects;
  if (object === undefined) return null;
  const more = graph.objects.reduce((sum, each) => sum + each.more, 0);
  return (
    <>
      <h1>
        {object.kind} {nameText(object)}
      </h1>
      <Facts object={object} />
      <section aria-labelledby="graph">
        <h2 id="graph">Its owners and dependents</h2>
        <p class="quiet">
          As far as the event log tells: it names objects for which something may have to be done, and their
          owners. An object whose owners are all there is not on it; <code>fleetgc cascade</code> asks the
          cluster itself.
          {graph.knownSinceMs === null ? null : (
            <>
              {' '}
              Read since <Time ms={graph.knownSinceMs} />.
            </>
          )}
        </p>
        <OwnerGraphSvg graph={graph} />
        {more > 0 ? (
          <p>
            The graph stops at {graph.objects.length} objects. {countText(more)} more depend on them: open an
            object that has some beside it.
          </p>
        ) : null}
        <h3>The same as a list</h3>
        <NestedList graph={graph} all={listGraph(graph)} />
      </section>
    </>
  );
}

function Facts({ object }: { readonly object: GraphObject }) {
  const { uid, state, toldMs, finalizers, last } = object;
  return (
    <dl class="facts">
      <Fact name="How it stands" more={<Time ms={toldMs} />}>
        {GRAPH_STATE_TEXT[state]}
      </Fact>
      <Fact name="Uid">
        <small>{uid}</small>
      </Fact>
      {finalizers.length === 0 ? null : <Fact name="Finalizers">{finalizers.join(', ')}</Fact>}
      {last === null ? null : (
        <Fact
          name="Tried last"
          more={
            <>
              <Time ms={last.atMs} />
              <br />
              {last.because} ({last.rule})
              {last.message === '' ? null : (
                <>
                  <br />
                  {last.message}
                </>
              )}
            </>
          }
        >
          {last.action}: {last.outcome}
        </Fact>
      )}
    </dl>
  );
}

interface NestedListProps {
  readonly graph: DashboardOwnerGraph;
  readonly all: readonly Listed[];
  readonly owner?: string;
}

function NestedList({ graph, all, owner }: NestedListProps) {
  return (
    <ul class="nested">
      {all.map((listed) => (
        <li key={listed.object.uid} id={listed.isNamedBefore ? undefined : listId(graph, listed.object)}>
          <ListedObject graph={graph} listed={listed} {...(owner !== undefined && { owner })} />
        </li>
      ))}
    </ul>
  );
}

interface ListedObjectProps {
  readonly graph: DashboardOwnerGraph;
  readonly listed: Listed;
  readonly owner?: string;
}

function ListedObject({ graph, listed, owner }: ListedObjectProps) {
  const { object, isNamedBefore, dependents } = listed;
  const edge = graph.edges.find((each) => each.owner === owner && each.dependent === object.uid);
  const isStart = object.uid === graph.uid;
  return (
    <>
      <a href={clusterObjectAddress(graph.cluster, object.uid)} aria-current={isStart ? 'true' : undefined}>
        {object.kind} {nameText(object)}
      </a>
      {isNamedBefore ? ' (above already)' : `: ${GRAPH_STATE_TEXT[object.state]}`}
      {edge?.isDropped ? ', which does not name this owner any more' : null}
      {edge === undefined || edge.isDropped ? null : `; says that its owner ${REFERENCE_TEXT[edge.state]}`}
      {object.more > 0 && !isNamedBefore ? `; and ${countText(object.more)} more beside it` : null}
      {dependents.length === 0 ? null : <NestedList graph={graph} all={dependents} owner={object.uid} />}
    </>
  );
}
