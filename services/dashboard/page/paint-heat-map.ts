import type { DashboardFleet, NodeState } from '../../../schemas/reports/dashboard.ts';
import { HEADING, type Layout } from './heat-map.ts';
import { hasSign, NODE_SIGNS, type NodeSign } from './node-signs.ts';
import { useStep } from './texts.ts';

const GAP = 1;

/** Colours of the theme, by what they are for. */
export interface Colours {
  readonly use: readonly string[];
  readonly unknown: string;
  readonly text: string;
  readonly quiet: string;
  readonly mark: string;
}

export function paint(
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
