import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { ReferenceState } from '../../schemas/events/ownership.ts';
import { compareText } from '../../schemas/events/text-order.ts';
import {
  type DashboardClusterObjects,
  type DashboardObjectLife,
  type DashboardOwnerGraph,
  type GraphEdge,
  GraphObject,
  type GraphState,
} from '../../schemas/reports/dashboard-clusters.ts';
import type { DashboardObject, ShownKind } from '../../schemas/reports/dashboard-object.ts';
import { explainCluster } from '../audit/explain/cluster.ts';
import { ruleWords } from '../deciders/rule-words.ts';
import { removedBecause } from '../decision/rule-text.ts';
import { isBack } from './images.ts';
import type { Held, HeldByNode } from './images-on-nodes.ts';
import { MOST_LOOKED_AT, namesOfObject } from './names.ts';
import type { ProjectedLog } from './read.ts';

/** Of what went often the last times are told. */
const MOST_WENT = 100;
const MOST_TOLD = 50;

interface ObjectQuestion {
  readonly kind: ShownKind;
  readonly id: string;
  /** Holders behind this node, in the order of their names. */
  readonly after: string | null;
  readonly limit: number;
}

interface ObjectNeeds {
  readonly db: DatabaseSync;
  readonly held: Held;
  readonly knownSinceMs: number | null;
}

/** One object on all nodes: who has it, and how often it went; `null` where nobody told of it. */
export function readObject(
  { db, held, knownSinceMs }: ObjectNeeds,
  question: ObjectQuestion,
): DashboardObject | null {
  const { kind, id } = question;
  const holding = kind === 'image' ? holdingOf(held, id) : [];
  const names = [...new Set([...holding.map(nameOf), ...namesOfObject(db, kind, id)])];
  const went = wentOf(db, held, question);
  const told = toldBy(db, question, [
    ...holding.map(({ held: { node } }) => node),
    ...went.last.map(({ node }) => node),
  ]);
  if (holding.length === 0 && names.length === 0 && went.times === 0 && told.length === 0) return null;
  return {
    kind,
    id,
    names: names.slice(0, MOST_TOLD),
    holders: holdersOf(holding, question),
    went,
    knownSinceMs,
    told,
  };
}

/** A node that lists an image, and where in its list. */
interface Holding {
  readonly held: HeldByNode;
  readonly position: number;
}

const nameOf = ({ held: { images }, position }: Holding): string => images[position]?.name ?? '';

function holdingOf(held: Held, id: string): readonly Holding[] {
  const found: Holding[] = [];
  for (const node of held.all()) {
    const position = node.images.findIndex((image) => image.id === id);
    if (position >= 0) found.push({ held: node, position });
  }
  return found.toSorted((a, b) => compareText(a.held.node, b.held.node));
}

function holdersOf(
  holding: readonly Holding[],
  { after, limit }: ObjectQuestion,
): DashboardObject['holders'] {
  const left =
    after === null ? holding : holding.filter(({ held: { node } }) => compareText(node, after) > 0);
  const page = left.slice(0, limit);
  return {
    nodes: holding.length,
    used: holding.filter(({ held, position }) => (held.users[position] ?? 0) > 0).length,
    pinned: holding.filter(({ held, position }) => held.isPinned(position)).length,
    page: page.map(({ held, position }) => ({
      node: held.node,
      atMs: held.atMs,
      sizeBytes: held.images[position]?.sizeBytes ?? 0,
      users: held.users[position] ?? 0,
      lastUsedMs: held.lastUsedMs(position),
      pinned: held.isPinned(position),
    })),
    after: left.length > page.length ? (page.at(-1)?.held.node ?? null) : null,
  };
}

type Asked = Pick<ObjectQuestion, 'kind' | 'id'>;

const BY_NODE = `SELECT node, count(*) AS times, max(node_ms) AS last FROM removals
  WHERE object = ? AND kind = ? GROUP BY node`;
const LAST = `SELECT node, at_ms, node_ms, rule, CAST(freed_bytes AS TEXT) AS freed FROM removals
  WHERE object = ? AND kind = ? ORDER BY at_ms DESC LIMIT ${MOST_WENT}`;

function wentOf(db: DatabaseSync, held: Held, { kind, id }: Asked): DashboardObject['went'] {
  const byNode = new Map(
    db
      .prepare(BY_NODE)
      .all(id, kind)
      .map(
        ({ node, times, last }) => [String(node), { times: Number(times), lastMs: Number(last) }] as const,
      ),
  );
  const cameBack = (node: string, wentMs: number): boolean => {
    const lastMs = byNode.get(node)?.lastMs ?? 0;
    return kind === 'image' && (wentMs < lastMs || isBack(held.of(node), id, wentMs));
  };
  return {
    times: sum(byNode.values().map(({ times }) => times)),
    nodes: byNode.size,
    back: sum(
      byNode
        .entries()
        .map(
          ([node, { times, lastMs }]) => (kind === 'image' ? times - 1 : 0) + Number(cameBack(node, lastMs)),
        ),
    ),
    last: db
      .prepare(LAST)
      .all(id, kind)
      .map(({ node, at_ms, node_ms, rule, freed }) => ({
        node: String(node),
        atMs: Number(at_ms),
        rule: String(rule),
        because: removedBecause(String(rule)),
        freedBytes: freed === null ? null : String(freed),
        isBack: cameBack(String(node), Number(node_ms)),
      })),
  };
}

const sum = (numbers: Iterable<number>): number =>
  Iterator.from(numbers).reduce((all, each) => all + each, 0);

const ACTED = 'SELECT DISTINCT node FROM activity WHERE object = ? AND kind = ? LIMIT ?';
const NAMED = `SELECT DISTINCT node FROM (SELECT node FROM names WHERE kind = ? AND id = ? LIMIT ${MOST_LOOKED_AT})
  LIMIT ?`;

function toldBy(db: DatabaseSync, { kind, id }: Asked, known: readonly string[]): string[] {
  const named = db.prepare(NAMED).all(kind, id, MOST_TOLD);
  const acted = db.prepare(ACTED).all(id, kind, MOST_TOLD);
  return [...new Set([...known, ...[...named, ...acted].map(({ node }) => String(node))])].slice(
    0,
    MOST_TOLD,
  );
}

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

/** A row of `cluster_objects`. */
const Stored = z.object({
  at_ms: z.number(),
  kind: z.string(),
  namespace: z.string(),
  name: z.string(),
  deleting: z.number(),
  finalizers: z.string(),
});
/** A row of `cluster_settled`. */
const Settled = z.object({ at_ms: z.number(), how: z.enum(['gone', 'no-candidate']) });
/** A row of `cluster_deeds`. */
const Deed = Stored.pick({ at_ms: true, kind: true, namespace: true, name: true }).extend({
  action: z.enum(['delete', 'expire', 'drop-references', 'finish', 'remove-pod']),
  rule: z.string(),
  outcome: GraphObject.shape.last.unwrap().shape.outcome,
  message: z.string(),
});
type Deed = z.infer<typeof Deed>;
/** A row of `cluster_owners`, for the owner. */
const Owning = z.object({
  at_ms: z.number(),
  owner_kind: z.string(),
  owner_name: z.string(),
  state: ReferenceState,
});

/** What the tables have of one object; `settled` only where it was told after `told`. */
interface ToldOfObject {
  readonly told: z.infer<typeof Stored> | null;
  readonly settled: z.infer<typeof Settled> | null;
  readonly deed: Deed | null;
  readonly owning: z.infer<typeof Owning> | null;
}

/** What dependents say of an owner of which nothing else is known. */
const AS_OWNER: Readonly<Record<ReferenceState, GraphState>> = {
  held: 'there',
  waiting: 'being-deleted',
  orphaning: 'being-deleted',
  gone: 'gone',
  unseen: 'gone',
  elsewhere: 'unknown',
  unlisted: 'unknown',
  unresolved: 'unknown',
  scope: 'unknown',
  pending: 'unknown',
};

type Is = (object: ToldOfObject) => boolean;

const asOwner = ({ owning }: ToldOfObject): GraphState | null => owning && AS_OWNER[owning.state];
const isSince = (row: { readonly at_ms: number } | null, { told }: ToldOfObject): boolean =>
  row !== null && row.at_ms >= (told?.at_ms ?? 0);
const wasDone =
  (...outcomes: readonly Deed['outcome'][]): Is =>
  (object) =>
    isSince(object.deed, object) && outcomes.some((outcome) => outcome === object.deed?.outcome);
const wentAsOwner: Is = (object) => asOwner(object) === 'gone' && isSince(object.owning, object);
const isGone: Is = (object) =>
  object.settled?.how === 'gone' || wentAsOwner(object) || wasDone('not-found')(object);
const isByFleetGc: Is = ({ deed }) => deed?.outcome === 'removed' || deed?.outcome === 'accepted';

/** The first that is so, as `fleetgc audit explain` says how an object stands: by what was told last. */
const STATES: readonly (readonly [GraphState, Is])[] = [
  ['removed', wasDone('removed')],
  ['removed', (object) => isGone(object) && isByFleetGc(object)],
  ['gone', isGone],
  ['being-deleted', wasDone('accepted')],
  ['settled', ({ settled }) => settled !== null],
  ['being-deleted', ({ told }) => told?.deleting === 1],
  ['candidate', ({ told }) => told !== null],
];

const stateOf = (object: ToldOfObject): GraphState =>
  STATES.find(([, is]) => is(object))?.[0] ?? asOwner(object) ?? 'unknown';

/** Of each life so many entries are told, the last ones. */
const MOST_ENTRIES = 200;

/** What became of an object, as `fleetgc audit explain object/UID --cluster NAME` tells it of the whole log. */
export async function readObjectLife(
  from: ProjectedLog,
  { cluster, uid }: { readonly cluster: string; readonly uid: string },
  signal: AbortSignal,
): Promise<DashboardObjectLife> {
  const request = {
    name: `object/${uid}`,
    cluster,
    range: { fromMs: null, toMs: null },
    thereOnly: false,
  };
  const needs = { log: from.log, words: ruleWords, signal, onProgress: () => undefined };
  const explanation = await explainCluster(request, needs);
  if (explanation.status !== 'explained') return { explanation, leftOut: 0 };
  const lives = explanation.lives.map((life) => ({ ...life, timeline: life.timeline.slice(-MOST_ENTRIES) }));
  const leftOut = explanation.lives.reduce(
    (sum, { timeline }) => sum + Math.max(0, timeline.length - MOST_ENTRIES),
    0,
  );
  return { explanation: { ...explanation, lives }, leftOut };
}
