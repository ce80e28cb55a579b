import type { DatabaseSync } from 'node:sqlite';
import { nodeKey } from '../../../schemas/events/identity.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import type { DashboardSearch, Found } from '../../../schemas/reports/dashboard.ts';
import type { FleetNode } from '../../../schemas/reports/fleet-nodes.ts';

/** So many of each kind are named; who looks for more types more. */
const MOST_OF_A_KIND = 20;

interface SearchNeeds {
  readonly db: DatabaseSync;
  readonly nodes: readonly FleetNode[];
  readonly policies: PolicySet;
}

/** Whatever has this text in its name, or begins with it as its id: nodes, policies, images, pods, and events. */
export function search({ db, nodes, policies }: SearchNeeds, query: string): DashboardSearch {
  const text = query.toLowerCase();
  const found = [
    nodesNamed(nodes, text),
    policiesNamed(policies, text),
    ...namesLike(db, text),
    eventsOf(db, query),
  ];
  const isAll = found.every(({ length }) => length <= MOST_OF_A_KIND);
  return { query, found: found.flatMap((kind) => kind.slice(0, MOST_OF_A_KIND)), isAll };
}

const nodesNamed = (nodes: readonly FleetNode[], text: string): readonly Found[] =>
  nodes
    .map(nodeKey)
    .filter((key) => key.toLowerCase().includes(text))
    .slice(0, MOST_OF_A_KIND + 1)
    .map((key) => ({ kind: 'node', name: key, id: key, node: key }));

const policiesNamed = ({ policies }: PolicySet, text: string): readonly Found[] =>
  policies
    .map(({ policy: { name } }) => name)
    .filter((name) => name.toLowerCase().includes(text))
    .map((name) => ({ kind: 'policy', name, id: name, node: null }));

const NAMES = `SELECT id, name, node FROM names
  WHERE kind = ? AND (instr(lower(name), ?) > 0 OR substr(id, 1, length(?)) = ?) ORDER BY name, id LIMIT ?`;

const namesLike = (db: DatabaseSync, text: string): readonly (readonly Found[])[] =>
  (['image', 'pod'] as const).map((kind) =>
    db
      .prepare(NAMES)
      .all(kind, text, text, text, MOST_OF_A_KIND + 1)
      .map(({ id, name, node }) => ({ kind, id: String(id), name: String(name), node: String(node) })),
  );

const eventsOf = (db: DatabaseSync, query: string): readonly Found[] =>
  db
    .prepare('SELECT id, node, what FROM activity WHERE id = ? ORDER BY node LIMIT ?')
    .all(query, MOST_OF_A_KIND + 1)
    .map(({ id, node, what }) => ({
      kind: 'event',
      id: String(id),
      name: `${what} on ${node}`,
      node: String(node),
    }));
