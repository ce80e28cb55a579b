import type { DatabaseSync } from 'node:sqlite';
import { nodeKey } from '../../../schemas/events/identity.ts';
import type { PolicySet, PolicySetOf } from '../../../schemas/policy/policy.ts';
import type { DashboardSearch, Found } from '../../../schemas/reports/dashboard.ts';
import type { FleetNode } from '../../../schemas/reports/fleet-nodes.ts';
import { clusterObjectsNamed, clustersNamed } from './found-clusters.ts';
import { containersNamed, removedBeginningWith } from './found-containers.ts';

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

const NAMES = `SELECT id, name, node FROM names
  WHERE kind = ? AND (instr(lower(name), ?) > 0 OR substr(id, 1, length(?)) = ?) ORDER BY name, id LIMIT ?`;

const namesLike = (db: DatabaseSync, text: string): readonly (readonly Found[])[] =>
  (['image', 'pod'] as const).map((kind) =>
    db
      .prepare(NAMES)
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
