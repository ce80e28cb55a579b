import type { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { zstdDecompressSync } from 'node:zlib';
import { z } from 'zod';
import { nodeKey } from '../../schemas/events/identity.ts';
import type { PolicySet, PolicySetOf } from '../../schemas/policy/policy.ts';
import type { DashboardSearch, Found } from '../../schemas/reports/dashboard.ts';
import type { FleetNode } from '../../schemas/reports/fleet-nodes.ts';

/** So many of each kind are named; who looks for more types more. */
const MOST_OF_A_KIND = 20;
/** Whether there are more. */
const ONE_MORE = MOST_OF_A_KIND + 1;

interface SearchNeeds {
  readonly db: DatabaseSync;
  readonly nodes: readonly FleetNode[];
  readonly policies: PolicySet;
  readonly clusterPolicies: PolicySetOf<'cluster'>['policies'];
}

/** Whatever has this text in its name, or begins with it as its id. Of events the whole id has to be given. */
export async function search(
  { db, nodes, policies, clusterPolicies }: SearchNeeds,
  query: string,
): Promise<DashboardSearch> {
  const text = query.toLowerCase();
  const found = [
    nodesNamed(nodes, text),
    clustersNamed(db, text, ONE_MORE),
    policiesNamed('policy', policies.policies, text),
    policiesNamed('cluster-policy', clusterPolicies, text),
    ...namesLike(db, text),
    once([...(await containersNamed(db, text, ONE_MORE)), ...removedBeginningWith(db, text, ONE_MORE)]),
    clusterObjectsNamed(db, text, ONE_MORE),
    eventsOf(db, query),
  ];
  const isAll = found.every(({ length }) => length <= MOST_OF_A_KIND);
  return { query, found: found.flatMap((kind) => kind.slice(0, MOST_OF_A_KIND)), isAll };
}

/** What was removed may be listed too, for as long as the newest inventory is older. */
const once = (found: readonly Found[]): readonly Found[] =>
  [...new Map(found.toReversed().map((each) => [`${each.id} ${each.node}`, each])).values()].toReversed();

const nodesNamed = (nodes: readonly FleetNode[], text: string): readonly Found[] =>
  nodes
    .map(nodeKey)
    .filter((key) => key.toLowerCase().includes(text))
    .slice(0, ONE_MORE)
    .map((key) => ({ kind: 'node', name: key, id: key, node: key, cluster: null }));

const policiesNamed = (
  kind: 'policy' | 'cluster-policy',
  policies: readonly { readonly policy: { readonly name: string } }[],
  text: string,
): readonly Found[] =>
  policies
    .map(({ policy: { name } }) => name)
    .filter((name) => name.toLowerCase().includes(text))
    .map((name) => ({ kind, name, id: name, node: null, cluster: null }));

const NAMES_LIKE = `SELECT id, name, node FROM names
  WHERE kind = ? AND (instr(lower(name), ?) > 0 OR substr(id, 1, length(?)) = ?) ORDER BY name, id LIMIT ?`;

const namesLike = (db: DatabaseSync, text: string): readonly (readonly Found[])[] =>
  (['image', 'pod'] as const).map((kind) =>
    db
      .prepare(NAMES_LIKE)
      .all(kind, text, text, text, ONE_MORE)
      .map(({ id, name, node }) => ({
        kind,
        id: String(id),
        name: String(name),
        node: String(node),
        cluster: null,
      })),
  );

const eventsOf = (db: DatabaseSync, query: string): readonly Found[] =>
  db
    .prepare('SELECT id, node, what FROM activity WHERE id = ? ORDER BY node LIMIT ?')
    .all(query, ONE_MORE)
    .map(({ id, node, what }) => ({
      kind: 'event',
      id: String(id),
      name: `${what} on ${node}`,
      node: String(node),
      cluster: null,
    }));

const MOST_NAMES = 20;
/** Of one object; nobody gives one so many, and each is looked at for each line that tells of it. */
export const MOST_LOOKED_AT = 1_000;

const NAMES = `SELECT name FROM (SELECT name, seen FROM names WHERE kind = ? AND id = ? LIMIT ${MOST_LOOKED_AT})
  ORDER BY seen DESC, name LIMIT ?`;

/** Names that nodes listed an image or a pod by, the one that was seen last first. */
export const namesOfObject = (
  db: DatabaseSync,
  kind: string,
  id: string,
  most = MOST_NAMES,
): readonly string[] =>
  db
    .prepare(NAMES)
    .all(kind, id, most)
    .map(({ name }) => String(name));

/** The page answers others between so many nodes. */
const NODES_AT_ONCE = 100;

const NEWEST = 'SELECT node, containers FROM inventories WHERE node > ? ORDER BY node LIMIT ?';
const Names = z.array(z.tuple([z.string(), z.string()]));
const Listed = z.object({ node: z.string(), containers: z.instanceof(Uint8Array) });

/** Containers of the newest inventories with this text in their name, or at the beginning of their id; `text` is in small letters. */
async function containersNamed(db: DatabaseSync, text: string, most: number): Promise<readonly Found[]> {
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
const removedBeginningWith = (db: DatabaseSync, id: string, most: number): readonly Found[] =>
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

const CLUSTERS = `SELECT cluster FROM censuses WHERE instr(lower(cluster), ?1) > 0 ORDER BY cluster LIMIT ?2`;

/** Clusters that told of themselves. The nodes of others are found by the name of theirs. */
const clustersNamed = (db: DatabaseSync, text: string, most: number): readonly Found[] =>
  db
    .prepare(CLUSTERS)
    .all(text, most)
    .map(({ cluster }) => String(cluster))
    .map((cluster) => ({ kind: 'cluster', id: cluster, name: cluster, node: null, cluster }));

const OBJECTS = `SELECT cluster, uid, kind, namespace, name FROM cluster_objects
  WHERE instr(lower(name), ?1) > 0 OR substr(uid, 1, length(?1)) = ?1 ORDER BY at_ms DESC, cluster, uid LIMIT ?2`;

/** Objects of clusters, as far as the event log names any. */
const clusterObjectsNamed = (db: DatabaseSync, text: string, most: number): readonly Found[] =>
  db
    .prepare(OBJECTS)
    .all(text, most)
    .map(({ cluster, uid, kind, namespace, name }) => ({
      kind: 'cluster-object',
      id: String(uid),
      name: `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`,
      node: null,
      cluster: String(cluster),
    }));
