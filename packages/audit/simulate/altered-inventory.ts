import type { CompleteInventory, InventoryImage, InventoryPod } from '../../../schemas/events/inventory.ts';
import type { ObjectKind, ObjectList } from '../../../schemas/events/object-kinds.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import { type EntryOf, entriesOf, idOf } from '../../decision/inventory-entries.ts';
import { objectKey } from '../events/identity.ts';
import type { ListedObject } from './listed-objects.ts';
import { type Effect, type Shift, shiftedReadings, shiftOf } from './space-effects.ts';

/** How a simulated node differs from the recorded one. */
export interface Alteration {
  /** Listed, but gone; by their keys. */
  readonly absent: ReadonlySet<string>;
  /** Not listed, but there. */
  readonly extra: readonly ListedObject[];
  /** Pods of what is there that are gone and not listed any more. */
  readonly extraPods: readonly InventoryPod[];
  /** An image with those who use it in the simulation. */
  readonly asUsed: (image: InventoryImage) => InventoryImage;
  /** By what is gone, and not to be had because of what is there. */
  readonly freed: readonly Effect[];
  readonly held: readonly Effect[];
}

export const shiftBy = (
  { freed, held }: Alteration,
  { filesystems }: Pick<CompleteInventory, 'filesystems'>,
): Shift => shiftOf(freed, held, filesystems);

/** The inventory as the simulated node would have taken it, without a reclaim. */
export function altered(inventory: CompleteInventory, alteration: Alteration): CompleteInventory {
  const { absent, extra, extraPods, asUsed } = alteration;
  const isContainer = (id: string): boolean => !absent.has(objectKey({ kind: 'container', id }));
  const thereOf = <Kind extends ObjectKind>(kind: Kind): readonly EntryOf<Kind>[] =>
    entriesOf(inventory, kind).filter((entry) => !absent.has(objectKey({ kind, id: idOf(kind, entry) })));
  const lists: Pick<CompleteInventory, ObjectList> = {
    containers: [
      ...thereOf('container'),
      ...extra.flatMap((object) => (object.kind === 'container' ? [untried(object.entry)] : [])),
    ],
    sandboxes: [
      ...thereOf('sandbox'),
      ...extra.flatMap((object) => (object.kind === 'sandbox' ? [untried(object.entry)] : [])),
    ],
    podLogDirectories:
      inventory.podLogDirectories &&
      [
        ...thereOf('pod-log-directory'),
        ...extra.flatMap((object) => (object.kind === 'pod-log-directory' ? [untried(object.entry)] : [])),
      ].toSorted(byName),
    logSymlinks:
      inventory.logSymlinks &&
      [
        ...thereOf('log-symlink'),
        ...extra.flatMap((object) => (object.kind === 'log-symlink' ? [untried(object.entry)] : [])),
      ].toSorted(byName),
    images: [
      ...thereOf('image'),
      ...extra.flatMap((object) => (object.kind === 'image' ? [unlayered(object.entry)] : [])),
    ].map(asUsed),
  };
  return {
    ...inventory,
    ...lists,
    reclaim: null,
    pods: [...inventory.pods, ...extraPods],
    containersWithoutImage: inventory.containersWithoutImage.filter(isContainer),
    diedContainerIds: inventory.diedContainerIds.filter(isContainer),
    filesystems: shiftedReadings(inventory.filesystems, shiftBy(alteration, inventory)),
  };
}

/** Every removal succeeds, so that none failed of what really went. */
const untried = <Entry extends object>(entry: Entry): Entry & { readonly backoff: null } => ({
  ...entry,
  backoff: null,
});

/** Its layers are positions in another list, and who used it has gone on without it. */
const unlayered = (image: InventoryImage): InventoryImage => ({
  ...untried(image),
  layers: null,
  usedBy: [],
});

const byName = ({ name: a }: { readonly name: string }, { name: b }: { readonly name: string }): number =>
  compareText(a, b);
