import type { Verdict } from '../../schemas/events/decision.ts';
import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import { kindsOf, ObjectKind } from '../../schemas/events/object-kinds.ts';
import type { PlannedObject } from '../../schemas/reports/plan.ts';
import { type Kept, keepAll } from '../decision/conclusion.ts';
import { type ListedObject, objectsIn } from '../decision/inventory-entries.ts';
import { keptBecause, removedBecause } from '../decision/rule-text.ts';

/** What becomes of every object. */
export interface PassVerdicts {
  readonly verdicts: readonly Verdict[];
  /** Positions of what goes, in the order in which it goes; of a kind that is left out, the order of its list. */
  readonly order: Partial<Readonly<Record<ObjectKind, readonly number[]>>>;
  /** What the removal of an image frees once all before it are gone, by its position. */
  readonly freedByImage: ReadonlyMap<number, bigint>;
  /** Positions of images that stay since too little is known of the node as a whole. */
  readonly doubtedImages: ReadonlySet<number>;
}

/** Every object of the inventory once, by kind in the order of a pass: what goes in its order, and what stays. */
export function plannedObjects(
  inventory: CompleteInventory,
  { verdicts, order, doubtedImages, freedByImage }: PassVerdicts,
): { remove: PlannedObject[]; keep: PlannedObject[] } {
  const listed = new Map(withDistinctNames(objectsIn(inventory)).map((object) => [keyOf(object), object]));
  const freed = new Map(
    [...freedByImage].map(([position, bytes]) => [keyOf({ kind: 'image', position }), String(bytes)]),
  );
  const toObject = (verdict: Verdict): PlannedObject => {
    const { kind, position, rule, facts } = verdict;
    const { id = '', name = '' } = listed.get(keyOf(verdict)) ?? {};
    const isDoubted = kind === 'image' && doubtedImages.has(position);
    const sizeBytes = sizeOf(inventory, verdict);
    const freedBytes = freed.get(keyOf(verdict)) ?? null;
    const because = isDoubted ? DOUBTED : textOf(verdict);
    return { kind, id, name, sizeBytes, freedBytes, rule, because, facts };
  };
  return {
    remove: ObjectKind.options.flatMap((kind) => removed(verdicts, kind, order[kind])).map(toObject),
    keep: verdicts.filter(({ action }) => action === 'keep').map(toObject),
  };
}

/** A pod that was created again under its name has containers of the same names: their ids tell them apart. */
function withDistinctNames(objects: readonly ListedObject[]): readonly ListedObject[] {
  const sameName = ({ kind, name }: ListedObject): string => `${kind} ${name}`;
  const counts = Map.groupBy(objects, sameName);
  return objects.map((object) =>
    counts.get(sameName(object))?.length === 1 || object.id === object.name
      ? object
      : { ...object, name: `${object.name} (${shortId(object.id)})` },
  );
}

const shortId = (id: string): string => id.replace(/^sha256:/, '').slice(0, 13);

const keyOf = ({ kind, position }: Pick<ListedObject, 'kind' | 'position'>): string => `${kind} ${position}`;

/** Of anything but an image the runtime tells no size. */
function sizeOf({ images }: CompleteInventory, { kind, position }: Verdict): number | null {
  switch (kind) {
    case 'image':
      return images[position]?.sizeBytes ?? null;
    case 'container':
    case 'sandbox':
    case 'pod-log-directory':
    case 'log-symlink':
      return null;
  }
}

const DOUBTED = 'not enough is known to remove any image';

const textOf = (verdict: Verdict): string =>
  verdict.action === 'remove' ? removedBecause(verdict.rule) : keptBecause(verdict, 'nothing-to-do');

function removed(
  verdicts: readonly Verdict[],
  kind: ObjectKind,
  order: readonly number[] | undefined,
): readonly Verdict[] {
  const going = verdicts.filter((verdict) => verdict.kind === kind && verdict.action === 'remove');
  if (order === undefined) return going;
  const byPosition = new Map(going.map((verdict) => [verdict.position, verdict]));
  return order.flatMap((position) => byPosition.get(position) ?? []);
}

/** All objects stay for one reason. */
export const allKept = (inventory: CompleteInventory, kept: Kept): readonly Verdict[] =>
  keepAll(inventory, ObjectKind.options, kept);

/** As `allKept`, of all but images. */
export const podObjectsKept = (inventory: CompleteInventory, kept: Kept): readonly Verdict[] =>
  keepAll(inventory, kindsOf('container-removal'), kept);
