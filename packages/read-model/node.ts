import type { DatabaseSync } from 'node:sqlite';
import type { DiskStats } from '../../schemas/events/disk-stats.ts';
import { FilesystemName } from '../../schemas/events/filesystem.ts';
import { nodeKey } from '../../schemas/events/identity.ts';
import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import { compareText } from '../../schemas/events/text-order.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { PolicySet } from '../../schemas/policy/policy.ts';
import type { DashboardNode } from '../../schemas/reports/dashboard.ts';
import {
  type DashboardListed,
  ListedKind,
  type ListedThing,
} from '../../schemas/reports/dashboard-object.ts';
import type { DashboardPlan } from '../../schemas/reports/dashboard-plan.ts';
import type { FleetNode } from '../../schemas/reports/fleet-nodes.ts';
import type { Plan, PlannedObject, PlanTrigger } from '../../schemas/reports/plan.ts';
import { objectsIn, podNamesIn, type SeenObject } from '../archive/inventory-objects.ts';
import { countedAs } from '../decision/rule-text.ts';
import type { LogReader } from '../log/port.ts';
import { planFor } from '../plan/plan.ts';
import { effectivePolicy, type Origin } from '../policy/effective.ts';
import { parseRecord } from '../records/parse/parse-record.ts';
import { firstRecord } from '../records/read-log.ts';
import { diskRows, disksOf, readingRows } from './project.ts';
import { type DiskRow, SPAN_MS } from './rows.ts';
import type { InventoryPlace } from './store.ts';
import { bigSum, bigSumOf } from './tables.ts';

/** More marks than this would cover the curve. */
const MOST_REMOVALS = 2_000;
/** Removals this close together are one reclaim to the eye. */
const TOGETHER_MS = 60_000;

interface NodeNeeds {
  readonly db: DatabaseSync;
  readonly node: FleetNode;
  /** Its newest, and when the log got them. */
  readonly stats: DiskStats;
  readonly policies: PolicySet;
  readonly hasInventory: boolean;
}

export const readNode = (needs: NodeNeeds): DashboardNode => ({
  node: needs.node,
  disks: disksWithPoints(needs),
  removals: removalsOf(needs.db, nodeKey(needs.node)),
  settings: settingsOf(needs),
  hasInventory: needs.hasInventory,
});

function disksWithPoints({ db, node, stats }: NodeNeeds): DashboardNode['disks'] {
  const key = nodeKey(node);
  const stored = db
    .prepare(
      'SELECT filesystem, span, least, most FROM disks JOIN node_numbers USING (number) WHERE node = ? ORDER BY span',
    )
    .all(key)
    .map(({ filesystem, span, least, most }) => ({
      filesystem: FilesystemName.parse(filesystem),
      span: Number(span),
      least: Number(least),
      most: Number(most),
    }));
  const newest = diskRows(key, stats, node.heardMs);
  return disksOf(stats.filesystems).map((filesystem) => ({
    filesystem,
    alsoCalled: FilesystemName.options.filter(
      (name) =>
        name !== filesystem && stats.filesystems[name]?.device === stats.filesystems[filesystem]?.device,
    ),
    points: [
      ...pointsOf([...stored, ...newest].filter((row) => row.filesystem === filesystem)),
      ...lastPoint(readingRows(key, stats.filesystems, node.heardMs), filesystem, node.heardMs),
    ],
  }));
}

/** What it is now ends the curve: a span is dated by its beginning. */
const lastPoint = (
  readings: readonly DiskRow[],
  filesystem: FilesystemName,
  atMs: number,
): DashboardNode['disks'][number]['points'] =>
  readings
    .filter((row) => row.filesystem === filesystem && atMs % SPAN_MS !== 0)
    .map(({ least, most }) => [atMs, least, most]);

interface SpanUse {
  readonly span: number;
  readonly least: number;
  readonly most: number;
}

function pointsOf(rows: readonly SpanUse[]): DashboardNode['disks'][number]['points'] {
  const spans = new Map<number, SpanUse>();
  for (const row of rows) {
    const known = spans.get(row.span) ?? row;
    const [least, most] = [Math.min(known.least, row.least), Math.max(known.most, row.most)];
    spans.set(row.span, { span: row.span, least, most });
  }
  return [...spans.values()]
    .toSorted((a, b) => a.span - b.span)
    .map(({ span, least, most }) => [span * SPAN_MS, least, most]);
}

function removalsOf(db: DatabaseSync, node: string): DashboardNode['removals'] {
  const rows = db
    .prepare(
      `SELECT max(at_ms) AS at, count(*) AS objects, count(freed_bytes) AS measured, ${bigSum('freed_bytes', 'freed')} FROM removals
       WHERE node = ? GROUP BY at_ms / ${TOGETHER_MS} ORDER BY at DESC LIMIT ${MOST_REMOVALS}`,
    )
    .all(node);
  return rows
    .map((row) => ({
      atMs: Number(row.at),
      objects: Number(row.objects),
      freedBytes: row.measured === 0 ? null : String(bigSumOf(row, 'freed')),
    }))
    .toReversed();
}

const settingsOf = ({ node, policies }: NodeNeeds): DashboardNode['settings'] =>
  effectivePolicy(policies, node, { isApplied: true }).settings.map(({ setting, value, origin }) => ({
    setting,
    value: value === null ? 'off' : typeof value === 'string' ? value : JSON.stringify(value),
    origin: ORIGINS[origin.kind] + (origin.kind === 'written' ? `, line ${origin.line}` : ''),
  }));

const ORIGINS: Readonly<Record<Origin['kind'], string>> = {
  written: 'written',
  'kubelet-configuration': 'default of KubeletConfiguration',
  'kubelet-flag': 'default of the kubelet’s flag',
  profile: 'default of the profile',
  'when-applied': 'default of the release that applied it',
  unknown: 'unknown: the text that was applied cannot be read',
};

/** Names of the first are told, and how many there are. */
const MOST_USERS = 50;

interface ListedQuestion {
  readonly kind: ListedKind | null;
  /** Only this one; `null`: all of them. */
  readonly id: string | null;
  /** A part of name or id. */
  readonly q: string;
  readonly offset: number;
  readonly limit: number;
}

/** What a node lists in its newest inventory, the largest first, and what keeps each: by the functions of `explain` and of `plan`. */
export function readListed(
  node: string,
  { inventory, atMs }: NewestInventory,
  { policies, question }: { readonly policies: PolicySet; readonly question: ListedQuestion },
): DashboardListed {
  const things = objectsIn(inventory, podNamesIn(inventory));
  const plan = planFor({ inventory, policies, trigger: 'forced' });
  const judged = new Map([
    ...plan.remove.map((object) => [placeOf(object), judgedOf('remove', object)] as const),
    ...plan.keep.map((object) => [placeOf(object), judgedOf('keep', object)] as const),
  ]);
  const found = things.filter((thing) => isAsked(thing, question)).toSorted(largestFirst);
  return {
    node,
    atMs,
    policy: plan.policy?.name ?? null,
    reason: plan.reason,
    counts: ListedKind.options.map((kind) => ({
      kind,
      objects: things.filter(({ object }) => object.kind === kind).length,
    })),
    matching: found.length,
    things: found
      .slice(question.offset, question.offset + question.limit)
      .map((thing) => listedThing(thing, judged.get(placeOf(thing.object)) ?? null)),
  };
}

const placeOf = ({ kind, id }: { readonly kind: string; readonly id: string }): string => `${kind} ${id}`;

const judgedOf = (
  action: 'keep' | 'remove',
  { rule, because, facts }: PlannedObject,
): NonNullable<ListedThing['judged']> => ({ action, rule, because, facts: { ...facts } });

function isAsked({ object }: SeenObject, { kind, id, q }: ListedQuestion): boolean {
  const text = q.toLowerCase();
  return (
    (kind === null || object.kind === kind) &&
    (id === null || object.id === id) &&
    (text === '' || object.name.toLowerCase().includes(text) || object.id.includes(text))
  );
}

const sizeOf = ({ details }: SeenObject): number | null =>
  typeof details.sizeBytes === 'number' ? details.sizeBytes : null;

const largestFirst = (a: SeenObject, b: SeenObject): number =>
  (sizeOf(b) ?? -1) - (sizeOf(a) ?? -1) || compareText(a.object.name, b.object.name);

function listedThing(thing: SeenObject, judged: ListedThing['judged']): ListedThing {
  const { object, traits, details, use } = thing;
  const { kind, id, name } = object;
  return {
    kind: ListedKind.parse(kind),
    id,
    name,
    sizeBytes: sizeOf(thing),
    state: typeof traits.state === 'string' ? traits.state : null,
    users: (use?.users ?? []).slice(0, MOST_USERS).map((user) => ({ ...user })),
    usersInAll: use?.users.length ?? 0,
    lastUsedMs: use?.lastUsedMs ?? null,
    firstSeenMs: typeof details.firstDetectedMs === 'number' ? details.firstDetectedMs : null,
    pinned: traits.pinned === true,
    judged,
  };
}

/** Of each list; nobody reads more, and the sums are of all. */
const MOST_OBJECTS = 1_000;
const MOST_REASONS = 100;

interface PlanNeeds {
  readonly log: LogReader;
  /** Of the newest inventory. */
  readonly place: InventoryPlace;
  readonly policies: PolicySet;
  readonly trigger: PlanTrigger;
}

/** What would go next, by the function of `fleetgc plan`; `null` where the inventory does not lie on the log any more. */
export async function readPlan(
  { log, place, policies, trigger }: PlanNeeds,
  signal: AbortSignal,
): Promise<DashboardPlan | null> {
  const newest = await newestInventory(log, place, signal);
  return newest && shortened(planFor({ inventory: newest.inventory, policies, trigger }), newest.atMs);
}

const shortened = (plan: Plan, loggedAtMs: number): DashboardPlan => ({
  loggedAtMs,
  plan: { ...plan, remove: plan.remove.slice(0, MOST_OBJECTS), keep: plan.keep.slice(0, MOST_OBJECTS) },
  removeCount: plan.remove.length,
  keepCount: plan.keep.length,
  keptBecause: reasonsOf(plan.keep),
});

/** As the table of `fleetgc plan` sums them up. */
const reasonsOf = (keep: readonly PlannedObject[]): DashboardPlan['keptBecause'] =>
  [...Map.groupBy(keep, (object) => `${object.rule} ${countedAs(object.because, object)}`).values()]
    .flatMap((objects) => {
      const [first] = objects;
      if (first === undefined) return [];
      return [{ because: countedAs(first.because, first), rule: first.rule, objects: objects.length }];
    })
    .toSorted((a, b) => b.objects - a.objects)
    .slice(0, MOST_REASONS);

/** What a node told last of all that is on it, and when the log got it. */
interface NewestInventory {
  readonly atMs: number;
  readonly inventory: CompleteInventory;
}

/** Reads the one record where it lies; `null` where the log has it no more. */
export async function newestInventory(
  log: LogReader,
  { node, partition, offset }: InventoryPlace,
  signal: AbortSignal,
): Promise<NewestInventory | null> {
  const request = { topic: TOPICS.inventory.name, partition, from: { offset } } as const;
  const record = await firstRecord(log, request, signal);
  if (record === null || record.offset !== offset || record.key !== node) return null;
  const parsed = parseRecord('inventory', record);
  if (!parsed.ok || parsed.event.status !== 'complete') return null;
  return { atMs: record.timestampMs, inventory: parsed.event };
}
