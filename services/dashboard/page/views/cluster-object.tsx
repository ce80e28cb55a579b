import { useMemo, useRef } from 'preact/hooks';
import { clusterEntryText, OWNER_STATES, outcomeText } from '../../../../packages/documents/cluster-life.ts';
import type { ObjectLife } from '../../../../schemas/reports/cluster-explanation.ts';
import type {
  DashboardObjectLife,
  DashboardOwnerGraph,
  GraphObject,
} from '../../../../schemas/reports/dashboard-clusters.ts';
import { clusterAddress, clusterObjectAddress } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Table } from '../document.tsx';
import {
  BOX_HEIGHT,
  BOX_WIDTH,
  type Box,
  boxBeside,
  type Direction,
  type DrawnGraph,
  drawGraph,
  type Line,
  type Listed,
  listGraph,
} from '../owner-graph.ts';
import { Fact, Section, Shown, Time } from '../parts.tsx';
import { countText, GRAPH_STATE_TEXT, kindText, nameText } from '../texts.ts';

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
      <Section id="life" heading="What happened to it">
        <Shown answered={life}>{(value) => <Explained told={value} />}</Shown>
      </Section>
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
      <Section id="graph" heading="Its owners and dependents">
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
      </Section>
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
      {edge === undefined || edge.isDropped ? null : `; says that its owner ${OWNER_STATES[edge.state]}`}
      {object.more > 0 && !isNamedBefore ? `; and ${countText(object.more)} more beside it` : null}
      {dependents.length === 0 ? null : <NestedList graph={graph} all={dependents} owner={object.uid} />}
    </>
  );
}

/** What `fleetgc audit explain` tells of an object. */
function Explained({ told: { explanation, leftOut } }: { readonly told: DashboardObjectLife }) {
  switch (explanation.status) {
    case 'not-found':
      return <p>The event log does not name it.</p>;
    case 'ambiguous':
      return (
        <>
          <p>Several objects have this name:</p>
          <ul>
            {explanation.candidates.map(({ cluster, uid, ...named }) => (
              <li key={uid}>
                <a href={clusterObjectAddress(cluster, uid)}>
                  {kindText(named)} {nameText(named)} ({uid})
                </a>
              </li>
            ))}
          </ul>
        </>
      );
    case 'explained':
      return (
        <>
          {leftOut === 0 ? null : (
            <p class="quiet">
              {countText(leftOut)} earlier entries are left out: <code>fleetgc audit explain</code> tells all.
            </p>
          )}
          {explanation.lives.map((life) => (
            <Life key={life.uid} life={life} />
          ))}
        </>
      );
  }
}

/** In the words of `fleetgc audit explain`. */
const Life = ({ life }: { readonly life: ObjectLife }) => (
  <>
    <p>
      {life.uid}: {outcomeText(life)}
    </p>
    <Table
      rows={life.timeline.map((entry) => ({ ...entry, told: clusterEntryText(entry) }))}
      keyOf={({ record, what }) => `${record.topic} ${record.offset} ${what}`}
      columns={[
        ['When', 'time', ({ loggedAtMs }) => loggedAtMs],
        ['What', 'text', ({ told }) => told.word],
        ['More', 'text', ({ told }) => told.text],
      ]}
    />
  </>
);

const DIRECTIONS: Readonly<Record<string, Direction>> = {
  ArrowUp: 'up',
  ArrowDown: 'down',
  ArrowLeft: 'left',
  ArrowRight: 'right',
};

/** The graph, drawn: links to walk through with the Tab key, and along the graph with the arrow keys. */
function OwnerGraphSvg({ graph }: { readonly graph: DashboardOwnerGraph }) {
  const drawn = useMemo(() => drawGraph(graph), [graph]);
  const place = useRef<SVGSVGElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const direction = DIRECTIONS[event.key];
    const next = direction && nextBox(drawn, event.target, direction);
    if (!next) return;
    event.preventDefault();
    place.current?.querySelector<SVGAElement>(`#${boxId(drawn, next)}`)?.focus();
  };
  return (
    <figure class="graph">
      <svg
        ref={place}
        width={drawn.width}
        height={drawn.height}
        viewBox={`0 0 ${drawn.width} ${drawn.height}`}
        onKeyDown={onKeyDown}
      >
        <title>Its owner graph; the list below has the same</title>
        {drawn.lines.map((line) => (
          <path
            key={`${line.from.key} ${line.to.key}`}
            d={pathOf(line)}
            class={line.isDropped ? 'dropped' : ''}
          />
        ))}
        {drawn.boxes.map((box) => (
          <BoxLink key={box.key} box={box} id={boxId(drawn, box)} graph={graph} />
        ))}
      </svg>
    </figure>
  );
}

const boxId = ({ boxes }: DrawnGraph, box: Box): string => `box-${boxes.indexOf(box)}`;

function nextBox(drawn: DrawnGraph, target: EventTarget | null, direction: Direction): Box | null {
  const id = target instanceof Element ? target.closest('a')?.id : undefined;
  const from = drawn.boxes.find((box) => boxId(drawn, box) === id);
  return from === undefined ? null : boxBeside(drawn, from, direction);
}

/** From the owner down to its dependent. */
function pathOf({ from, to }: Line): string {
  const [x1, y1] = [from.x + BOX_WIDTH / 2, from.y + BOX_HEIGHT];
  const [x2, y2] = [to.x + BOX_WIDTH / 2, to.y];
  const middle = (y1 + y2) / 2;
  return `M ${x1} ${y1} C ${x1} ${middle}, ${x2} ${middle}, ${x2} ${y2}`;
}

interface BoxProps {
  readonly box: Box;
  readonly id: string;
  readonly graph: DashboardOwnerGraph;
}

function BoxLink({ box: { objects, x, y }, id, graph }: BoxProps) {
  const [first] = objects;
  if (first === undefined) return null;
  const isOne = objects.length === 1;
  const title = isOne ? nameText(first) : `${objects.length} ${first.kind}`;
  const kind = isOne ? first.kind : `such as ${nameText(first)}`;
  const state = stateText(first) + (isOne && first.more > 0 ? `, ${first.more} more beside` : '');
  return (
    <a
      id={id}
      href={isOne ? clusterObjectAddress(graph.cluster, first.uid) : `#${listId(graph, first)}`}
      class={[first.uid === graph.uid ? 'start' : '', isGone(first) ? 'gone' : ''].join(' ')}
    >
      <title>{[isOne ? nameText(first) : title, first.kind, state].join(', ')}</title>
      <rect x={x} y={y} width={BOX_WIDTH} height={BOX_HEIGHT} rx={6} />
      <text x={x + 10} y={y + 20}>
        {shortened(title)}
      </text>
      <text class="small" x={x + 10} y={y + 37}>
        {shortened(kind)}
      </text>
      <text class="small" x={x + 10} y={y + 53}>
        {shortened(state)}
      </text>
    </a>
  );
}

const stateText = ({ state, last }: GraphObject): string =>
  last?.outcome === 'refused' || last?.outcome === 'failed'
    ? `${GRAPH_STATE_TEXT[state]}; ${last.outcome}`
    : GRAPH_STATE_TEXT[state];

const isGone = ({ state }: GraphObject): boolean => state === 'removed' || state === 'gone';

/** Of an object in the list below. */
const listId = ({ objects }: DashboardOwnerGraph, { uid }: GraphObject): string =>
  `object-${objects.findIndex((each) => each.uid === uid)}`;

const MOST_LETTERS = 28;
/** The title has all of it. */
const shortened = (text: string): string =>
  text.length <= MOST_LETTERS ? text : `${text.slice(0, MOST_LETTERS - 1)}…`;
