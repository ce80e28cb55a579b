import { z } from 'zod';
import type { ClusterCommandItem } from '../../../schemas/events/cluster-command.ts';
import { ClusterVerdict } from '../../../schemas/events/cluster-decision.ts';
import { Verdict } from '../../../schemas/events/decision.ts';
import { NodeIdentity, nodeKey, SUBJECTS } from '../../../schemas/events/identity.ts';
import { OBJECT_KINDS, ObjectKind, type ObjectList } from '../../../schemas/events/object-kinds.ts';
import type { ObjectResult } from '../../../schemas/events/result.ts';
import type { LogRecord } from '../../log/port.ts';
import { DAY_MS } from '../../process/durations.ts';
import { objectKey, type Place, placeOf } from '../events/log-position.ts';
import type { Judging } from './coverage.ts';
import type { Findings, NotOurs } from './findings.ts';

const Identified = z.array(z.object({ id: z.string() }));
const Named = z.array(z.object({ name: z.string() }));

/** The names of all that a complete inventory lists; whether the rest of it is believable is for the deciders to say. */
const ListedObjects = z.object({
  images: Identified,
  containers: Identified,
  sandboxes: Identified,
  podLogDirectories: Named.nullable().default(null),
  logSymlinks: Named.nullable().default(null),
} satisfies Readonly<Record<ObjectList, z.ZodType>>);

const entryName = (entry: { readonly id: string } | { readonly name: string }): string =>
  'id' in entry ? entry.id : entry.name;

const RecordedVerdicts = z.object({
  verdicts: z.array(Verdict.pick({ kind: true, position: true, action: true })),
});

/** How many of each kind a decision says to remove; `null` where that cannot be read. */
export function removalCounts(decision: unknown): ReadonlyMap<string, number> | null {
  const record = RecordedVerdicts.safeParse(decision).data;
  if (record === undefined) return null;
  const removals = record.verdicts.filter(({ action }) => action === 'remove');
  return new Map(
    ObjectKind.options.map((kind) => [kind, removals.filter((one) => one.kind === kind).length]),
  );
}

/** What a decision says to remove of its inventory; `null` where either cannot be read. */
export function removableObjects(decision: unknown, inventory: unknown): ReadonlySet<string> | null {
  const record = RecordedVerdicts.safeParse(decision).data;
  const listed = ListedObjects.safeParse(inventory).data;
  if (record === undefined || listed === undefined) return null;
  const removable = new Set<string>();
  for (const { kind, position, action } of record.verdicts) {
    const entry = listed[OBJECT_KINDS[kind].list]?.[position];
    if (action === 'remove' && entry !== undefined) removable.add(objectKey({ kind, id: entryName(entry) }));
  }
  return removable;
}

const RecordedActions = z.object({
  verdicts: z.array(ClusterVerdict.pick({ position: true, action: true })),
});
const ListedCandidates = z.object({
  candidates: z.array(z.object({ object: z.object({ uid: z.string(), resourceVersion: z.string() }) })),
});

const actionName = (
  action: string,
  object: { readonly uid: string; readonly resourceVersion: string },
): string => `${action} ${object.uid} of version ${object.resourceVersion}`;

/** An item of a command as it has to be decided. */
export const itemName = ({ act, object }: ClusterCommandItem): string => actionName(act.action, object);

/** How often a decision says to do what; `null` where that cannot be read. */
export function actionCounts(decision: unknown): ReadonlyMap<string, number> | null {
  const record = RecordedActions.safeParse(decision).data;
  if (record === undefined) return null;
  const counts = new Map<string, number>();
  for (const { action } of record.verdicts) counts.set(action, (counts.get(action) ?? 0) + 1);
  return counts;
}

/** What a decision says to do about the candidates of its fact; `null` where either cannot be read. */
export function decidedActions(decision: unknown, fact: unknown): ReadonlySet<string> | null {
  const record = RecordedActions.safeParse(decision).data;
  const listed = ListedCandidates.safeParse(fact).data;
  if (record === undefined || listed === undefined) return null;
  return new Set(
    record.verdicts.flatMap(({ position, action }) => {
      const candidate = listed.candidates[position];
      return candidate === undefined ? [] : [actionName(action, candidate.object)];
    }),
  );
}

/** What of a complete inventory is compared, by kind: the objects of the runtime. */
const COMPARED = {
  image: { kind: 'image', list: 'images' },
  container: { kind: 'container', list: 'containers' },
  sandbox: { kind: 'sandbox', list: 'sandboxes' },
  'pod-log-directory': null,
  'log-symlink': null,
} as const satisfies {
  readonly [Kind in ObjectKind]: { readonly kind: Kind; readonly list: ObjectList } | null;
};

const Listing = ListedObjects.pick({ images: true, containers: true, sandboxes: true }).extend({
  ...NodeIdentity.shape,
  status: z.literal('complete'),
});
type Listing = z.infer<typeof Listing>;

/** The last listing of each installation is kept: of each kind the ids, and no more. */
interface Listed {
  readonly ids: ReadonlyMap<NotOurs['kind'], ReadonlySet<string>>;
  readonly place: Place;
}

interface Gone {
  /** The object, on the installation that listed it. */
  readonly name: string;
  readonly object: NotOurs;
}

/** A result says long after the removal that an object went, or before an inventory that still lists it. */
const KEPT_MS = DAY_MS;
/** Of these, FleetGC was at the object: one whose removal failed may go all the same, later. */
const TOUCHED: readonly ObjectResult['result']['outcome'][] = ['removed', 'not-found', 'failed'];

/** Finds what a node listed and then did not, without a result that says so. */
export class RemovedByOthers {
  readonly #findings: Findings;
  readonly #last = new Map<string, Listed>();
  /** By installation and object, when a result said that it went. */
  readonly #touched = new Map<string, number>();
  readonly #gone: Gone[] = [];

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  listed(inventory: unknown, record: LogRecord): void {
    const listing = Listing.safeParse(inventory).data;
    if (listing === undefined) return;
    const now = { ids: idsIn(listing), place: placeOf(record) };
    const installation = SUBJECTS.node.installationOf(listing);
    const before = this.#last.get(installation);
    if (before !== undefined) this.#gone.push(...goneBetween(before, now, listing));
    this.#last.set(installation, now);
  }

  answered(answer: ObjectResult, { timestampMs }: LogRecord): void {
    if (TOUCHED.includes(answer.result.outcome))
      this.#touched.set(`${SUBJECTS.node.installationOf(answer)} ${objectKey(answer.object)}`, timestampMs);
  }

  judge({ beforeMs }: Judging): void {
    for (const { name, object } of takeBefore(this.#gone, beforeMs))
      if (!this.#touched.has(name)) this.#findings.notOurs(object);
    for (const [key, atMs] of this.#touched) if (atMs < beforeMs - KEPT_MS) this.#touched.delete(key);
  }
}

const idsIn = (listing: Listing): Listed['ids'] =>
  new Map(
    Object.values(COMPARED)
      .filter((compared) => compared !== null)
      .map(({ kind, list }) => [kind, new Set(listing[list].map(({ id }) => id))]),
  );

const goneBetween = (before: Listed, now: Listed, listing: Listing): Gone[] =>
  [...before.ids].flatMap(([kind, ids]) => {
    const there = now.ids.get(kind);
    const places = [before.place, now.place] as const;
    return [...ids]
      .filter((id) => !there?.has(id))
      .map((id) => ({
        name: `${SUBJECTS.node.installationOf(listing)} ${objectKey({ kind, id })}`,
        object: { kind, id, node: nodeKey(listing), places },
      }));
  });

/** Takes away what went before a time; results of it have come by then. */
function takeBefore(gone: Gone[], beforeMs: number): readonly Gone[] {
  const waiting = gone.findIndex(({ object }) => object.places[1].timestampMs >= beforeMs);
  return gone.splice(0, waiting < 0 ? gone.length : waiting);
}
