import { type Kept, keepAll, type Verdicts } from '../../packages/decision/conclusion.ts';
import { namesIn } from '../../packages/decision/object-names.ts';
import { keptBecause, removedBecause } from '../../packages/decision/rule-text.ts';
import type { ObjectKind } from '../../schemas/events/command.ts';
import type { Verdict } from '../../schemas/events/decision.ts';
import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import type { PlannedObject } from '../../schemas/reports/plan.ts';

/** The lists of an inventory, in the order in which their objects go (G1). */
const LISTS = ['containers', 'sandboxes', 'podLogDirectories', 'logSymlinks', 'images'] as const;
type List = (typeof LISTS)[number];

const KINDS: Readonly<Record<List, ObjectKind>> = {
  containers: 'container',
  sandboxes: 'sandbox',
  podLogDirectories: 'pod-log-directory',
  logSymlinks: 'log-symlink',
  images: 'image',
};

/** What becomes of every object. */
export interface Fates {
  readonly verdicts: Verdicts;
  /** Positions of what goes, in the order in which it goes; of a list that is left out, the order of the list. */
  readonly order: Partial<Readonly<Record<List, readonly number[]>>>;
  /** Positions of images that stay since too little is known of the node as a whole. */
  readonly doubtedImages: ReadonlySet<number>;
}

/** Every object of the inventory once: what goes in its order, and what stays. */
export function plannedObjects(
  inventory: CompleteInventory,
  { verdicts, order, doubtedImages }: Fates,
): { remove: PlannedObject[]; keep: PlannedObject[] } {
  const names = namesIn(inventory);
  const toObject = (list: List, verdict: Verdict): PlannedObject => ({
    kind: KINDS[list],
    id: idAt(inventory, list, verdict.position),
    name: names[list][verdict.position] ?? '',
    sizeBytes: list === 'images' ? (inventory.images[verdict.position]?.sizeBytes ?? null) : null,
    rule: verdict.rule,
    because: list === 'images' && doubtedImages.has(verdict.position) ? DOUBTED : textOf(verdict),
    facts: verdict.facts,
  });
  return {
    remove: LISTS.flatMap((list) => removed(verdicts[list], order[list]).map((one) => toObject(list, one))),
    keep: LISTS.flatMap((list) => kept(verdicts[list]).map((one) => toObject(list, one))),
  };
}

const DOUBTED = 'not enough is known to remove any image';

const textOf = (verdict: Verdict): string =>
  verdict.action === 'remove' ? removedBecause(verdict.rule) : keptBecause(verdict, 'nothing-to-do');

const kept = (verdicts: readonly Verdict[]): Verdict[] => verdicts.filter(({ action }) => action === 'keep');

function removed(verdicts: readonly Verdict[], order: readonly number[] | undefined): Verdict[] {
  const going = verdicts.filter(({ action }) => action === 'remove');
  if (order === undefined) return going;
  const byPosition = new Map(going.map((verdict) => [verdict.position, verdict]));
  return order.flatMap((position) => byPosition.get(position) ?? []);
}

function idAt(inventory: CompleteInventory, list: List, position: number): string {
  if (list === 'podLogDirectories' || list === 'logSymlinks') return inventory[list]?.[position]?.name ?? '';
  return inventory[list][position]?.id ?? '';
}

/** All objects of these lists stay for one reason. */
export const allKept = (inventory: CompleteInventory, kept: Kept): Verdicts => ({
  images: keepAll(inventory.images, kept),
  ...podObjectsKept(inventory, kept),
});

/** As `allKept`, of all but images. */
export const podObjectsKept = (inventory: CompleteInventory, kept: Kept): Omit<Verdicts, 'images'> => ({
  containers: keepAll(inventory.containers, kept),
  sandboxes: keepAll(inventory.sandboxes, kept),
  podLogDirectories: keepAll(inventory.podLogDirectories ?? [], kept),
  logSymlinks: keepAll(inventory.logSymlinks ?? [], kept),
});
