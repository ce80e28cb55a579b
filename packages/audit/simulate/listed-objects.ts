import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import { type EntryOf, entriesOf, idOf } from '../../decision/inventory-entries.ts';
import { objectKey } from '../events/identity.ts';

/** An object as an inventory lists it. */
export type ListedObject = { [Kind in ObjectKind]: ListedOf<Kind> }[ObjectKind];

interface ListedOf<Kind extends ObjectKind> {
  readonly kind: Kind;
  readonly id: string;
  readonly entry: EntryOf<Kind>;
}

const listedOf = <Kind extends ObjectKind>(inventory: CompleteInventory, kind: Kind): ListedOf<Kind>[] =>
  entriesOf(inventory, kind).map((entry) => ({ kind, id: idOf(kind, entry), entry }));

/** Users of images before the images, by their keys. */
export const objectsIn = (inventory: CompleteInventory): ReadonlyMap<string, ListedObject> =>
  new Map(
    ObjectKind.options
      .flatMap((kind): readonly ListedObject[] => LISTED[kind](inventory))
      .map((object) => [objectKey(object), object]),
  );

const LISTED: { readonly [Kind in ObjectKind]: (inventory: CompleteInventory) => ListedOf<Kind>[] } = {
  container: (inventory) => listedOf(inventory, 'container'),
  sandbox: (inventory) => listedOf(inventory, 'sandbox'),
  'pod-log-directory': (inventory) => listedOf(inventory, 'pod-log-directory'),
  'log-symlink': (inventory) => listedOf(inventory, 'log-symlink'),
  image: (inventory) => listedOf(inventory, 'image'),
};

/** Of which pod it is; `null` of images and symlinks. */
export function podUidOf(object: ListedObject): string | null {
  switch (object.kind) {
    case 'container':
      return object.entry.pod?.uid ?? null;
    case 'sandbox':
    case 'pod-log-directory':
      return object.entry.podUid;
    case 'image':
    case 'log-symlink':
      return null;
  }
}
