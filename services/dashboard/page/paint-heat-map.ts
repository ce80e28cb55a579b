import type { DashboardFleet, NodeState } from '../../../schemas/reports/dashboard.ts';
import { HEADING, type Layout } from './heat-map.ts';
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
      paintNode(context, { x, y, size: size - GAP }, cellOf(columns, position), colours);
    });
  }
}

interface Cell {
  readonly used: number | null;
  readonly state: NodeState;
}

const cellOf = ({ used, state }: DashboardFleet['columns'], position: number): Cell => ({
  used: used[position] ?? null,
  state: state[position] ?? 'well',
});

/** A silent node is hollow; one that needs somebody has a dot: not by colour alone. */
function paintNode(
  context: CanvasRenderingContext2D,
  { x, y, size }: { readonly x: number; readonly y: number; readonly size: number },
  { used, state }: Cell,
  { use, unknown, quiet, mark }: Colours,
): void {
  if (state === 'silent') {
    context.strokeStyle = quiet;
    context.strokeRect(x + 1, y + 1, size - 2, size - 2);
    return;
  }
  context.fillStyle = used === null ? unknown : (use[useStep(used)] ?? unknown);
  context.fillRect(x, y, size, size);
  if (state !== 'pressure' && state !== 'warned') return;
  context.fillStyle = mark;
  context.beginPath();
  context.arc(x + size / 2, y + size / 2, Math.max(1.5, size / 5), 0, 2 * Math.PI);
  context.fill();
}
