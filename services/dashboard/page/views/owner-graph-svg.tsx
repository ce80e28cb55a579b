import { useMemo, useRef } from 'preact/hooks';
import type { DashboardOwnerGraph, GraphObject } from '../../../../schemas/reports/dashboard-clusters.ts';
import { clusterObjectAddress } from '../addresses.ts';
import { GRAPH_STATE_TEXT, nameText } from '../cluster-texts.ts';
import {
  BOX_HEIGHT,
  BOX_WIDTH,
  type Box,
  boxBeside,
  type Direction,
  type DrawnGraph,
  drawGraph,
  type Line,
} from '../owner-graph.ts';

const DIRECTIONS: Readonly<Record<string, Direction>> = {
  ArrowUp: 'up',
  ArrowDown: 'down',
  ArrowLeft: 'left',
  ArrowRight: 'right',
};

/** The graph, drawn: links to walk through with the Tab key, and along the graph with the arrow keys. */
export function OwnerGraphSvg({ graph }: { readonly graph: DashboardOwnerGraph }) {
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
export const listId = ({ objects }: DashboardOwnerGraph, { uid }: GraphObject): string =>
  `object-${objects.findIndex((each) => each.uid === uid)}`;

const MOST_LETTERS = 28;
/** The title has all of it. */
const shortened = (text: string): string =>
  text.length <= MOST_LETTERS ? text : `${text.slice(0, MOST_LETTERS - 1)}…`;
