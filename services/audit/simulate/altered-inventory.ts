import type { CompleteInventory, InventoryImage, InventoryPod } from '../../../schemas/events/inventory.ts';
import { type Effect, type Shift, shiftedReadings, shiftOf } from './effect.ts';
import { type ListedObject, objectKey } from './listed-object.ts';

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
  const isThere = (kind: ListedObject['kind']) => (id: string) => !absent.has(objectKey({ kind, id }));
  const isContainer = isThere('container');
  const isDirectory = isThere('pod-log-directory');
  const isSymlink = isThere('log-symlink');
  return {
    ...inventory,
    reclaim: null,
    images: [
      ...inventory.images.filter(({ id }) => isThere('image')(id)),
      ...extra.flatMap((object) => (object.kind === 'image' ? [unlayered(object.entry)] : [])),
    ].map(asUsed),
    containers: [
      ...inventory.containers.filter(({ id }) => isContainer(id)),
      ...extra.flatMap((object) => (object.kind === 'container' ? [untried(object.entry)] : [])),
    ],
    sandboxes: [
      ...inventory.sandboxes.filter(({ id }) => isThere('sandbox')(id)),
      ...extra.flatMap((object) => (object.kind === 'sandbox' ? [untried(object.entry)] : [])),
    ],
    pods: [...inventory.pods, ...extraPods],
    podLogDirectories:
      inventory.podLogDirectories &&
      [
        ...inventory.podLogDirectories.filter(({ name }) => isDirectory(name)),
        ...extra.flatMap((object) => (object.kind === 'pod-log-directory' ? [untried(object.entry)] : [])),
      ].toSorted(byName),
    logSymlinks:
      inventory.logSymlinks &&
      [
        ...inventory.logSymlinks.filter(({ name }) => isSymlink(name)),
        ...extra.flatMap((object) => (object.kind === 'log-symlink' ? [untried(object.entry)] : [])),
      ].toSorted(byName),
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
  a < b ? -1 : Number(a > b);
