import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { ReferenceState } from '../../../schemas/events/ownership.ts';
import type {
  DashboardClusterObjects,
  DashboardOwnerGraph,
  GraphEdge,
  GraphObject,
} from '../../../schemas/reports/dashboard-clusters.ts';
import { ruleWords } from '../../deciders/rule-words.ts';
import { Deed, Owning, Settled, Stored, stateOf } from './object-state.ts';

/** More cannot be looked at. */
const MOST_OBJECTS = 200;
/** Of very many that a search finds. */
const MOST_FOUND = 50;

/** What the log tells of an object of a cluster, its owners and its dependents; `null` where it tells nothing of it. */
export function readOwnerGraph(
  db: DatabaseSync,
  { cluster, uid }: { readonly cluster: string; readonly uid: string },
  knownSinceMs: number | null,
): DashboardOwnerGraph | null {
  const told = new ToldObjects(db, cluster);
  if (told.object(uid) === null) return null;
  const uids = reached(uid, told);
  const edges = new Map<string, GraphEdge>();
  const objects = [...uids].flatMap((each) => {
    const references = told.references(each);
    const inside = references.filter(({ owner, dependent }) => uids.has(owner) && uids.has(dependent));
    for (const edge of inside) edges.set(JSON.stringify([edge.owner, edge.dependent]), edge);
    const object = told.object(each);
    return object === null ? [] : [{ ...object, more: told.countReferences(each) - inside.length }];
  });
  return { cluster, uid, objects, edges: [...edges.values()], knownSinceMs };
}

/** Those that are nearest to it, as many as may be drawn. */
function reached(start: string, told: ToldObjects): ReadonlySet<string> {
  const uids = new Set([start]);
  for (const uid of uids)
    for (const { owner, dependent } of told.references(uid)) {
      if (uids.size >= MOST_OBJECTS) return uids;
      uids.add(owner === uid ? dependent : owner);
    }
  return uids;
}

const Finalizers = z.array(z.string());
const Edge = z.object({
  owner: z.string(),
  dependent: z.string(),
  state: ReferenceState,
  dropped: z.number(),
});

const REFERENCES = `SELECT named.owner_uid AS owner, named.uid AS dependent, named.state,
    coalesce((named.at_ms, named.offset) < (told.at_ms, told.offset), 0) AS dropped
  FROM cluster_owners AS named
  LEFT JOIN cluster_objects AS told ON told.cluster = named.cluster AND told.uid = named.uid
  WHERE named.cluster = ?`;

/** The sign before a column keeps SQLite from going through all owners of the cluster in that order, in place of those of the object. */
const OWNERS = `${REFERENCES} AND named.uid = ? ORDER BY +named.owner_uid LIMIT ${MOST_OBJECTS}`;
const DEPENDENTS = `${REFERENCES} AND named.owner_uid = ? ORDER BY named.uid LIMIT ${MOST_OBJECTS}`;
/** One count for each side: with OR, SQLite would go through all owners of the cluster. */
const COUNT = `SELECT (SELECT count(*) FROM cluster_owners WHERE cluster = ?1 AND uid = ?2)
  + (SELECT count(*) FROM cluster_owners WHERE cluster = ?1 AND owner_uid = ?2) AS count`;

/** What the tables have of the objects of one cluster. */
class ToldObjects {
  readonly #db: DatabaseSync;
  readonly #cluster: string;

  constructor(db: DatabaseSync, cluster: string) {
    this.#db = db;
    this.#cluster = cluster;
  }

  /** `null` for one of which nothing is known. */
  object(uid: string): Omit<GraphObject, 'more'> | null {
    const told = this.#row(Stored, 'SELECT * FROM cluster_objects WHERE cluster = ? AND uid = ?', uid);
    const settled = this.#row(
      Settled,
      `SELECT s.at_ms, s.how FROM cluster_settled AS s LEFT JOIN cluster_objects AS o ON o.cluster = s.cluster AND o.uid = s.uid
        WHERE s.cluster = ? AND s.uid = ? AND (o.uid IS NULL OR (s.at_ms, s.offset) > (o.at_ms, o.offset))`,
      uid,
    );
    const deed = this.#row(Deed, 'SELECT * FROM cluster_deeds WHERE cluster = ? AND uid = ?', uid);
    const owning = this.#row(
      Owning,
      'SELECT * FROM cluster_owners WHERE cluster = ? AND owner_uid = ? ORDER BY at_ms DESC, offset DESC, uid LIMIT 1',
      uid,
    );
    const named = told ?? deed;
    const kind = named?.kind ?? owning?.owner_kind;
    const name = named?.name ?? owning?.owner_name;
    if (kind === undefined || name === undefined) return null;
    return {
      uid,
      kind,
      namespace: named?.namespace ?? null,
      name,
      state: stateOf({ told, settled, deed, owning }),
      toldMs: Math.max(...[told, settled, deed, owning].map((row) => row?.at_ms ?? 0)),
      finalizers: told === null ? [] : Finalizers.parse(JSON.parse(told.finalizers)),
      last: deed && lastOf(deed),
    };
  }

  /** Its owners, and then its dependents: no more than may be drawn. */
  references(uid: string): readonly GraphEdge[] {
    const of = (sql: string) =>
      this.#db
        .prepare(sql)
        .all(this.#cluster, uid)
        .map((row) => Edge.parse(row))
        .map(({ owner, dependent, state, dropped }) => ({
          owner,
          dependent,
          state,
          isDropped: dropped === 1,
        }));
    return [...of(OWNERS), ...of(DEPENDENTS)];
  }

  countReferences(uid: string): number {
    return Number(this.#db.prepare(COUNT).get(this.#cluster, uid)?.count ?? 0);
  }

  #row<Schema extends z.ZodType>(schema: Schema, sql: string, uid: string): z.infer<Schema> | null {
    const row = this.#db.prepare(sql).get(this.#cluster, uid);
    return row === undefined ? null : schema.parse(row);
  }
}

const lastOf = ({ at_ms, action, rule, outcome, message }: Deed): GraphObject['last'] => ({
  atMs: at_ms,
  action,
  rule,
  because: ruleWords({ rule, action }),
  outcome,
  message,
});

const FOUND = `SELECT uid FROM cluster_objects WHERE cluster = ?1
    AND (instr(lower(name), ?2) > 0 OR instr(lower(kind), ?2) > 0 OR substr(uid, 1, length(?2)) = ?2)
  ORDER BY at_ms DESC, uid LIMIT ${MOST_FOUND + 1}`;

/** Objects that have the text in their name or kind, or begin with it as their uid; all where it is empty. */
export function findObjects(db: DatabaseSync, cluster: string, text: string): DashboardClusterObjects {
  const told = new ToldObjects(db, cluster);
  const uids = db.prepare(FOUND).all(cluster, text.toLowerCase());
  const objects = uids.slice(0, MOST_FOUND).flatMap(({ uid }) => {
    const object = told.object(String(uid));
    if (object === null) return [];
    const { kind, namespace, name, state, toldMs } = object;
    return [{ uid: object.uid, kind, namespace: namespace ?? '', name, state, toldMs }];
  });
  return { objects, isAll: uids.length <= MOST_FOUND };
}
