import type { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import type { DashboardReturned } from '../../../schemas/reports/dashboard-images.ts';
import { HOUR_MS } from '../../process/durations.ts';
import type { Held, HeldByNode } from '../projection/held.ts';
import { namesOfObject } from './names.ts';

const MOST_IMAGES = 100;
/** So much of the past is read before others have their turn. */
const SPAN_MS = HOUR_MS;

interface ReturnedNeeds {
  readonly db: DatabaseSync;
  readonly held: Held;
  /** From when up to now, by the log's clock. */
  readonly range: { readonly fromMs: number; readonly toMs: number };
  readonly knownSinceMs: number | null;
}

/** How often an image went from a node, and when the last time was, by the clock of the node. */
interface Gone {
  times: number;
  lastMs: number;
}

interface Sum {
  removals: number;
  returns: number;
  nodes: number;
}

const REMOVED = `SELECT object, node, count(*) AS times, max(node_ms) AS last FROM removals
  WHERE at_ms >= ? AND at_ms < ? AND kind = 'image' GROUP BY object, node`;

/**
 * Images that went and came back: what goes twice came back in between, and what the newest inventory of its node lists was pulled
 * again. What somebody else deleted since `fleetgc audit report` alone tells.
 */
export async function readReturned(
  { db, held, range, knownSinceMs }: ReturnedNeeds,
  signal: AbortSignal,
): Promise<DashboardReturned> {
  const gone = new Map<string, Map<string, Gone>>();
  for (let fromMs = range.fromMs; fromMs <= range.toMs && !signal.aborted; fromMs += SPAN_MS) {
    for (const row of db.prepare(REMOVED).all(fromMs, Math.min(fromMs + SPAN_MS, range.toMs + 1)))
      addGone(gone, { image: String(row.object), node: String(row.node) }, row);
    await setImmediate();
  }
  const images = [...gone]
    .map(([id, nodes]) => ({ id, name: null, ...sumOf(id, nodes, held) }))
    .toSorted((a, b) => b.returns - a.returns || b.removals - a.removals);
  const names = namesOf(held, new Set(images.slice(0, MOST_IMAGES).map(({ id }) => id)));
  return {
    fromMs: range.fromMs,
    knownSinceMs,
    removals: images.reduce((sum, { removals }) => sum + removals, 0),
    returns: images.reduce((sum, { returns }) => sum + returns, 0),
    images: images
      .filter(({ returns }) => returns > 0)
      .slice(0, MOST_IMAGES)
      .map((image) => ({
        ...image,
        name: names.get(image.id) ?? namesOfObject(db, 'image', image.id)[0] ?? null,
      })),
  };
}

function addGone(
  gone: Map<string, Map<string, Gone>>,
  { image, node }: { readonly image: string; readonly node: string },
  { times, last }: { readonly times?: unknown; readonly last?: unknown },
): void {
  const nodes = gone.get(image) ?? new Map<string, Gone>();
  gone.set(image, nodes);
  const known = nodes.get(node) ?? { times: 0, lastMs: 0 };
  nodes.set(node, { times: known.times + Number(times), lastMs: Math.max(known.lastMs, Number(last)) });
}

function sumOf(id: string, nodes: ReadonlyMap<string, Gone>, held: Held): Sum {
  const sum = { removals: 0, returns: 0, nodes: nodes.size };
  for (const [node, { times, lastMs }] of nodes) {
    sum.removals += times;
    sum.returns += times - 1 + Number(isBack(held.of(node), id, lastMs));
  }
  return sum;
}

/** Whether a node has listed an image since it went, by its own clock. */
export const isBack = (node: HeldByNode | null, id: string, wentMs: number): boolean =>
  node !== null && node.takenMs > wentMs && node.images.some((image) => image.id === id);

function namesOf(held: Held, ids: ReadonlySet<string>): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { images } of held.all())
    for (const { id, name } of images) if (ids.has(id) && !names.has(id)) names.set(id, name);
  return names;
}
