import type { ObjectKind } from '../../../schemas/events/command.ts';
import type {
  CompleteInventory,
  InventoryContainer,
  InventoryImage,
  InventoryLogSymlink,
  InventoryPodLogDirectory,
  InventorySandbox,
} from '../../../schemas/events/inventory.ts';

interface Entries {
  readonly image: InventoryImage;
  readonly container: InventoryContainer;
  readonly sandbox: InventorySandbox;
  readonly 'pod-log-directory': InventoryPodLogDirectory;
  readonly 'log-symlink': InventoryLogSymlink;
}

/** An object as an inventory lists it. */
export type ListedObject = {
  [Kind in ObjectKind]: { readonly kind: Kind; readonly id: string; readonly entry: Entries[Kind] };
}[ObjectKind];

/** Tells objects of a node apart. */
export const objectKey = ({ kind, id }: { readonly kind: string; readonly id: string }): string =>
  `${kind} ${id}`;

/** Users of images before the images, by their keys. */
export const objectsIn = (inventory: CompleteInventory): ReadonlyMap<string, ListedObject> =>
  new Map(
    [
      ...inventory.containers.map((entry): ListedObject => ({ kind: 'container', id: entry.id, entry })),
      ...inventory.sandboxes.map((entry): ListedObject => ({ kind: 'sandbox', id: entry.id, entry })),
      ...(inventory.podLogDirectories ?? []).map(
        (entry): ListedObject => ({ kind: 'pod-log-directory', id: entry.name, entry }),
      ),
      ...(inventory.logSymlinks ?? []).map(
        (entry): ListedObject => ({ kind: 'log-symlink', id: entry.name, entry }),
      ),
      ...inventory.images.map((entry): ListedObject => ({ kind: 'image', id: entry.id, entry })),
    ].map((object) => [objectKey(object), object]),
  );

/** Of which pod it is; `null` of images and symlinks. */
export function podUidOf(object: ListedObject): string | null {
  switch (object.kind) {
    case 'container':
      return object.entry.pod?.uid ?? null;
    case 'sandbox':
    case 'pod-log-directory':
      return object.entry.podUid;
    default:
      return null;
  }
}
