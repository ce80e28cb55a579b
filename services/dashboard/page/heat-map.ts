import type { DashboardFleet } from '../../../schemas/reports/dashboard.ts';

/** A cell with its gap, in CSS pixels; few nodes get large ones. */
const CELLS = [
  { most: 200, size: 26 },
  { most: 1_000, size: 18 },
  { most: 4_000, size: 13 },
  { most: Number.POSITIVE_INFINITY, size: 10 },
] as const;
export const HEADING = 22;
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
