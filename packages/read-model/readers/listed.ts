import { compareText } from '../../../schemas/events/text-order.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import {
  type DashboardListed,
  ListedKind,
  type ListedThing,
} from '../../../schemas/reports/dashboard-object.ts';
import type { PlannedObject } from '../../../schemas/reports/plan.ts';
import { objectsIn, podNamesIn, type SeenObject } from '../../archive/inventory-objects.ts';
import { planFor } from '../../plan/plan.ts';
import type { NewestInventory } from './newest-inventory.ts';

/** Names of the first are told, and how many there are. */
const MOST_USERS = 50;

export interface ListedQuestion {
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
