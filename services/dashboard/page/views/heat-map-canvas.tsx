import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { DashboardFleet, NodeState } from '../../../../schemas/reports/dashboard.ts';
import { go, nodeAddress } from '../addresses.ts';
import { HEADING, type Layout, layOut, nodeAt } from '../heat-map.ts';
import {
  countSigned,
  countText,
  hasSign,
  NODE_SIGNS,
  type NodeSign,
  stateText,
  usedText,
  useStep,
} from '../texts.ts';
import { themeColours, useTheme } from '../theme.ts';

/** Every node at once. A screen reader gets the sums, and the table below has every node. */
export function HeatMap({ fleet }: { readonly fleet: DashboardFleet }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [pointed, setPointed] = useState<number | null>(null);
  const theme = useTheme(readColours);
  const layout = useMemo(() => layOut(fleet, width), [fleet, width]);
  useEffect(() => {
    if (canvas.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(canvas.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!canvas.current || !context || width === 0) return;
    const scale = devicePixelRatio;
    canvas.current.width = width * scale;
    canvas.current.height = layout.height * scale;
    canvas.current.style.height = `${layout.height}px`;
    context.scale(scale, scale);
    paint(context, fleet, layout, theme);
  }, [fleet, layout, width, theme]);
  const find = ({ offsetX, offsetY }: MouseEvent): number | null => nodeAt(layout, offsetX, offsetY);
  return (
    <>
      <p class="quiet" aria-hidden="true">
        {pointed === null
          ? 'Point at a node to see which it is; click to look at it.'
          : nodeText(fleet, pointed)}
      </p>
      <canvas
        ref={canvas}
        role="img"
        aria-label={summary(fleet)}
        onMouseMove={(event) => setPointed(find(event))}
        onMouseLeave={() => setPointed(null)}
        onClick={(event) => open(fleet, find(event))}
      />
    </>
  );
}

function open({ columns, clusters }: DashboardFleet, position: number | null): void {
  if (position === null) return;
  go(nodeAddress(clusters[columns.cluster[position] ?? 0] ?? '', columns.node[position] ?? ''));
}

function nodeText({ columns, clusters }: DashboardFleet, position: number): string {
  const cluster = clusters[columns.cluster[position] ?? 0];
  return `${cluster}/${columns.node[position]}: ${usedText(columns.used[position] ?? null)} used, ${stateText(columns, position)}`;
}

function summary({ columns }: DashboardFleet): string {
  const { node, used, state } = columns;
  const full = used.filter((percent) => percent !== null && percent >= 90).length;
  const silent = state.filter((each) => each === 'silent').length;
  return `Disk use of ${countText(node.length)} nodes: ${countText(full)} use 90 percent or more, ${countText(silent)} are silent, ${countText(countSigned(columns, 'paused'))} are paused, and no policy selects ${countText(countSigned(columns, 'keeps-all'))}. The table below has every node.`;
}

const USES = ['use-0', 'use-1', 'use-2', 'use-3', 'use-4'];

function readColours(): Colours {
  const [unknown = '', text = '', quiet = '', mark = ''] = themeColours(['unknown', 'text', 'quiet', 'mark']);
  return { use: themeColours(USES), unknown, text, quiet, mark };
}

const GAP = 1;

/** Colours of the theme, by what they are for. */
interface Colours {
  readonly use: readonly string[];
  readonly unknown: string;
  readonly text: string;
  readonly quiet: string;
  readonly mark: string;
}

function paint(
  context: CanvasRenderingContext2D,
  { columns }: DashboardFleet,
  { blocks, size, perRow }: Layout,
  colours: Colours,
): void {
  context.font = '13px system-ui, sans-serif';
  context.textBaseline = 'middle';
  for (const { name, top, nodes } of blocks) {
    context.fillStyle = colours.text;
    context.fillText(name, 0, top + HEADING / 2);
    nodes.forEach((position, index) => {
      const x = (index % perRow) * size;
      const y = top + HEADING + Math.floor(index / perRow) * size;
      const square = { x, y, size: size - GAP };
      const cell = { used: columns.used[position] ?? null, state: columns.state[position] ?? 'well' };
      paintUse(context, square, cell, colours);
      context.fillStyle = colours.mark;
      context.strokeStyle = colours.mark;
      for (const sign of NODE_SIGNS) if (hasSign(columns, position, sign)) PAINT[sign](context, square);
    });
  }
}

interface Square {
  readonly x: number;
  readonly y: number;
  readonly size: number;
}

/** A silent node is hollow. */
function paintUse(
  context: CanvasRenderingContext2D,
  { x, y, size }: Square,
  { used, state }: { readonly used: number | null; readonly state: NodeState },
  { use, unknown, quiet }: Colours,
): void {
  if (state === 'silent') {
    context.strokeStyle = quiet;
    context.strokeRect(x + 1, y + 1, size - 2, size - 2);
    return;
  }
  context.fillStyle = used === null ? unknown : (use[useStep(used)] ?? unknown);
  context.fillRect(x, y, size, size);
}

/** A dot, two bars beside it, a line through the corners: shapes, and not colours. */
const PAINT: Readonly<Record<NodeSign, (context: CanvasRenderingContext2D, square: Square) => void>> = {
  marked: (context, { x, y, size }) => {
    context.beginPath();
    context.arc(x + size / 2, y + size / 2, Math.max(1.5, size / 5), 0, 2 * Math.PI);
    context.fill();
  },
  paused: (context, { x, y, size }) => {
    const wide = Math.max(1, size / 8);
    for (const left of [x + wide, x + size - 2 * wide])
      context.fillRect(left, y + size / 6, wide, (size * 2) / 3);
  },
  'keeps-all': (context, { x, y, size }) => {
    context.beginPath();
    context.moveTo(x, y + size);
    context.lineTo(x + size, y);
    context.stroke();
  },
};
