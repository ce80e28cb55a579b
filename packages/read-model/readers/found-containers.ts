import type { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { zstdDecompressSync } from 'node:zlib';
import { z } from 'zod';
import type { Found } from '../../../schemas/reports/dashboard.ts';

/** The page answers others between so many nodes. */
const NODES_AT_ONCE = 100;

const NEWEST = 'SELECT node, containers FROM inventories WHERE node > ? ORDER BY node LIMIT ?';
const Names = z.array(z.tuple([z.string(), z.string()]));
const Listed = z.object({ node: z.string(), containers: z.instanceof(Uint8Array) });

/** Containers of the newest inventories with this text in their name, or at the beginning of their id; `text` is in small letters. */
export async function containersNamed(
  db: DatabaseSync,
  text: string,
  most: number,
): Promise<readonly Found[]> {
  const read = db.prepare(NEWEST);
  const found: Found[] = [];
  for (let after = ''; ; ) {
    const nodes = read.all(after, NODES_AT_ONCE).map((row) => Listed.parse(row));
    for (const listed of nodes) found.push(...namedOn(listed, text));
    after = nodes.at(-1)?.node ?? after;
    if (nodes.length < NODES_AT_ONCE || found.length >= most) return found.slice(0, most);
    await setImmediate();
  }
}

function namedOn({ node, containers }: z.infer<typeof Listed>, text: string): readonly Found[] {
  const packed = zstdDecompressSync(containers).toString();
  // Most nodes have none: as it is written nothing has to be parsed to say so.
  if (!packed.toLowerCase().includes(JSON.stringify(text).slice(1, -1))) return [];
  return Names.parse(JSON.parse(packed))
    .filter(([id, name]) => name.toLowerCase().includes(text) || id.startsWith(text))
    .map(([id, name]) => ({ kind: 'container', id, name, node, cluster: null }));
}

const REMOVED = `SELECT DISTINCT kind, object, node FROM removals
  WHERE object >= ?1 AND object < ?2 AND kind IN ('container', 'sandbox') ORDER BY object, node LIMIT ?3`;

/** Containers and sandboxes that were removed, by the beginning of their id: nothing else of them is told by then. */
export const removedBeginningWith = (db: DatabaseSync, id: string, most: number): readonly Found[] =>
  db
    .prepare(REMOVED)
    .all(id, `${id}\u{10FFFF}`, most)
    .map(({ kind, object, node }) => ({
      kind: kind === 'sandbox' ? 'sandbox' : 'container',
      id: String(object),
      name: String(object),
      node: String(node),
      cluster: null,
    }));
