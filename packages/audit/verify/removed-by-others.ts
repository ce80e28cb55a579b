import { z } from 'zod';
import { NodeIdentity, nodeKey, SUBJECTS } from '../../../schemas/events/identity.ts';
import type { ObjectKind, ObjectList } from '../../../schemas/events/object-kinds.ts';
import type { ObjectResult } from '../../../schemas/events/result.ts';
import type { LogRecord } from '../../log/port.ts';
import { DAY_MS } from '../../process/durations.ts';
import { objectKey } from '../events/identity.ts';
import { type Place, placeOf } from '../events/log-position.ts';
import type { Judging } from './coverage.ts';
import { ListedObjects } from './decisions/decided-removals.ts';
import type { Findings, NotOurs } from './findings.ts';

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
