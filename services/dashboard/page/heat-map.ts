import type { DashboardFleet, NodeState } from '../../../schemas/reports/dashboard.ts';
import { useStep } from './texts.ts';

/** A cell with its gap, in CSS pixels; few nodes get large ones. */
const CELLS = [
  { most: 200, size: 26 },
  { most: 1_000, size: 18 },
  { most: 4_000, size: 13 },
  { most: Number.POSITIVE_INFINITY, size: 10 },
] as const;
const GAP = 1;
const HEADING = 22;
const BETWEEN = 8;

interface Block {
  readonly name: string;
  readonly top: number;
  /** Positions of its nodes in the columns. */
  readonly nodes: readonly number[];
}

/** Where each node stands: a heading for each group, and its nodes in rows below. */
export interface Layout {
  readonly blocks: readonly Block[];
  readonly size: number;
  readonly perRow: number;
  readonly height: number;
}

export function layOut({ groups, columns }: DashboardFleet, width: number): Layout {
  const nodesOf: number[][] = groups.map(() => []);
  for (const [position, group] of columns.group.entries()) nodesOf[group]?.push(position);
  const count = columns.node.length;
  const size = CELLS.find(({ most }) => count <= most)?.size ?? 10;
  const perRow = Math.max(1, Math.floor(width / size));
  const order = groups
    .map((_, group) => group)
    .toSorted((a, b) => (groups[a] ?? '').localeCompare(groups[b] ?? ''));
  const blocks: Block[] = [];
  let top = 0;
  for (const group of order) {
    const nodes = nodesOf[group] ?? [];
    blocks.push({ name: `${groups[group]} (${nodes.length})`, top, nodes });
    top += HEADING + Math.ceil(nodes.length / perRow) * size + BETWEEN;
  }
  return { blocks, size, perRow, height: top };
}

/** The position of the node at a point; `null` where there is none. */
export function nodeAt({ blocks, size, perRow }: Layout, x: number, y: number): number | null {
  const block = blocks.findLast(({ top }) => y >= top);
  if (block === undefined || y < block.top + HEADING) return null;
  const column = Math.floor(x / size);
  const row = Math.floor((y - block.top - HEADING) / size);
  return column >= perRow ? null : (block.nodes[row * perRow + column] ?? null);
}

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
