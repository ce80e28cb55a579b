import { z } from 'zod';
import { ReferenceState } from '../../../schemas/events/ownership.ts';
import { GraphObject, type GraphState } from '../../../schemas/reports/dashboard-clusters.ts';

/** A row of `cluster_objects`. */
export const Stored = z.object({
  at_ms: z.number(),
  kind: z.string(),
  namespace: z.string(),
  name: z.string(),
  deleting: z.number(),
  finalizers: z.string(),
});
/** A row of `cluster_settled`. */
export const Settled = z.object({ at_ms: z.number(), how: z.enum(['gone', 'no-candidate']) });
/** A row of `cluster_deeds`. */
export const Deed = Stored.pick({ at_ms: true, kind: true, namespace: true, name: true }).extend({
  action: z.enum(['delete', 'expire', 'drop-references', 'finish', 'remove-pod']),
  rule: z.string(),
  outcome: GraphObject.shape.last.unwrap().shape.outcome,
  message: z.string(),
});
export type Deed = z.infer<typeof Deed>;
/** A row of `cluster_owners`, for the owner. */
export const Owning = z.object({
  at_ms: z.number(),
  owner_kind: z.string(),
  owner_name: z.string(),
  state: ReferenceState,
});

/** What the tables have of one object; `settled` only where it was told after `told`. */
export interface ToldOfObject {
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

export const stateOf = (object: ToldOfObject): GraphState =>
  STATES.find(([, is]) => is(object))?.[0] ?? asOwner(object) ?? 'unknown';
