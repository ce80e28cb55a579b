import { z } from 'zod';
import type { LogRecord } from '../../../packages/event-log/port.ts';
import { NodeIdentity, nodeKey } from '../../../schemas/events/identity.ts';
import type { ObjectResult } from '../../../schemas/events/result.ts';
import { DAY_MS } from '../events/durations.ts';
import { installationKey, objectKey } from '../events/identity.ts';
import { type Place, placeOf } from '../events/log-position.ts';
import type { Judging } from './coverage.ts';
import { ListedObjects } from './decisions/decided-removals.ts';
import type { Findings, NotOurs } from './findings.ts';

/** What is compared of a complete inventory: the objects of the runtime. */
const Listing = ListedObjects.pick({ images: true, containers: true, sandboxes: true }).extend({
  ...NodeIdentity.shape,
  status: z.literal('complete'),
});
type Listing = z.infer<typeof Listing>;

const KINDS = [
  ['images', 'image'],
  ['containers', 'container'],
  ['sandboxes', 'sandbox'],
] as const;

interface Listed {
  readonly listing: Listing;
  readonly place: Place;
}

interface Gone {
  /** The object, on the installation that listed it. */
  readonly name: string;
  readonly object: NotOurs;
}

/** A result says long after the removal that an object went, or before an inventory that still lists it. */
const REMEMBERED_MS = DAY_MS;
/** Of these, FleetGC was at the object: one whose removal failed may go all the same, later. */
const TOUCHED: readonly ObjectResult['result']['outcome'][] = ['removed', 'not-found', 'failed'];

/** Finds what a node listed and then did not, without a result that says so. */
export function createVanished(findings: Findings) {
  const last = new Map<string, Listed>();
  /** By installation and object, when a result said that it went. */
  const touched = new Map<string, number>();
  const gone: Gone[] = [];

  const compare = (before: Listed, now: Listed): void => {
    for (const [list, kind] of KINDS) {
      const there = new Set(now.listing[list].map(({ id }) => id));
      for (const { id } of before.listing[list]) {
        if (there.has(id)) continue;
        const places = [before.place, now.place] as const;
        const object = { kind, id, node: nodeKey(now.listing), places };
        gone.push({ name: `${installationKey(now.listing)} ${objectKey(object)}`, object });
      }
    }
  };

  return {
    listed: (inventory: unknown, record: LogRecord): void => {
      const listing = Listing.safeParse(inventory).data;
      if (listing === undefined) return;
      const now = { listing, place: placeOf(record) };
      const before = last.get(installationKey(listing));
      if (before !== undefined) compare(before, now);
      last.set(installationKey(listing), now);
    },
    answered: (answer: ObjectResult, { timestampMs }: LogRecord): void => {
      if (TOUCHED.includes(answer.result.outcome))
        touched.set(`${installationKey(answer)} ${objectKey(answer.object)}`, timestampMs);
    },
    judge: ({ beforeMs }: Judging): void => {
      for (const { name, object } of takeBefore(gone, beforeMs))
        if (!touched.has(name)) findings.notOurs(object);
      for (const [key, atMs] of touched) if (atMs < beforeMs - REMEMBERED_MS) touched.delete(key);
    },
  };
}

/** Takes away what went before a time; results of it have come by then. */
function takeBefore(gone: Gone[], beforeMs: number): readonly Gone[] {
  const waiting = gone.findIndex(({ object }) => object.places[1].timestampMs >= beforeMs);
  return gone.splice(0, waiting < 0 ? gone.length : waiting);
}
