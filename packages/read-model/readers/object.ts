import type { DatabaseSync } from 'node:sqlite';
import { compareText } from '../../../schemas/events/text-order.ts';
import type { DashboardObject, ShownKind } from '../../../schemas/reports/dashboard-object.ts';
import { removedBecause } from '../../decision/rule-text.ts';
import type { Held, HeldByNode } from '../projection/held.ts';
import { MOST_LOOKED_AT, namesOfObject } from './names.ts';
import { isBack } from './returned.ts';

/** Of what went often the last times are told. */
const MOST_WENT = 100;
const MOST_TOLD = 50;

export interface ObjectQuestion {
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
