import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import { OBJECT_KINDS, ObjectKind } from '../../schemas/events/object-kinds.ts';

type ListOf<Kind extends ObjectKind> = (typeof OBJECT_KINDS)[Kind]['list'];

/** An entry of the list of one kind. */
export type EntryOf<Kind extends ObjectKind> = NonNullable<CompleteInventory[ListOf<Kind>]>[number];

/** What a list has of one kind of object; empty where the node could not read it. */
const ENTRIES: { readonly [Kind in ObjectKind]: (inventory: CompleteInventory) => readonly EntryOf<Kind>[] } =
  {
    container: ({ containers }) => containers,
    sandbox: ({ sandboxes }) => sandboxes,
    'pod-log-directory': ({ podLogDirectories }) => podLogDirectories ?? [],
    'log-symlink': ({ logSymlinks }) => logSymlinks ?? [],
    image: ({ images }) => images,
  };

const IDS: { readonly [Kind in ObjectKind]: (entry: EntryOf<Kind>) => string } = {
  container: ({ id }) => id,
  sandbox: ({ id }) => id,
  'pod-log-directory': ({ name }) => name,
  'log-symlink': ({ name }) => name,
  image: ({ id }) => id,
};

/** A restarted container has the name of the one before; its attempt tells them apart. */
const NAMES: { readonly [Kind in ObjectKind]: (entry: EntryOf<Kind>) => string } = {
  container: ({ id, name, pod, attempt }) => (pod === null ? id : `${podName(pod)}/${name}#${attempt}`),
  sandbox: ({ podUid, pod, attempt }) => (pod === null ? podUid : `${podName(pod)}#${attempt}`),
  'pod-log-directory': ({ name }) => name,
  'log-symlink': ({ name }) => name,
  image: ({ id, repoTags, repoDigests }) => [...repoTags, ...repoDigests].find(isName) ?? id,
};

/** CRI-O and others write `<none>:<none>` and `<none>@<none>` where an image has no name. */
const isName = (name: string): boolean => !name.includes('<none>');

const podName = ({ namespace, name }: NonNullable<EntryOf<'container'>['pod']>): string =>
  `${namespace}/${name}`;

export const entriesOf = <Kind extends ObjectKind>(
  inventory: CompleteInventory,
  kind: Kind,
): readonly EntryOf<Kind>[] => ENTRIES[kind](inventory);

/** As commands and results name it: its id, or of a log entry its name. */
export const idOf = <Kind extends ObjectKind>(kind: Kind, entry: EntryOf<Kind>): string => IDS[kind](entry);

/** For people. */
export const nameOf = <Kind extends ObjectKind>(kind: Kind, entry: EntryOf<Kind>): string =>
  NAMES[kind](entry);

/** Ids of the objects of one kind, by position. */
export const idsIn = <Kind extends ObjectKind>(inventory: CompleteInventory, kind: Kind): readonly string[] =>
  entriesOf(inventory, kind).map(IDS[kind]);

/** Names of the objects of an inventory, by kind and position, as verdicts refer to them. */
export type ObjectNames = Readonly<Record<ObjectKind, readonly string[]>>;

const namesOf = <Kind extends ObjectKind>(inventory: CompleteInventory, kind: Kind): readonly string[] =>
  entriesOf(inventory, kind).map(NAMES[kind]);

export const namesIn = (inventory: CompleteInventory): ObjectNames => ({
  container: namesOf(inventory, 'container'),
  sandbox: namesOf(inventory, 'sandbox'),
  'pod-log-directory': namesOf(inventory, 'pod-log-directory'),
  'log-symlink': namesOf(inventory, 'log-symlink'),
  image: namesOf(inventory, 'image'),
});

/** An object by its place in an inventory. */
export interface ListedObject {
  readonly kind: ObjectKind;
  readonly position: number;
  readonly id: string;
  readonly name: string;
}

const listedOf = <Kind extends ObjectKind>(inventory: CompleteInventory, kind: Kind): ListedObject[] =>
  entriesOf(inventory, kind).map((entry, position) => ({
    kind,
    position,
    id: IDS[kind](entry),
    name: NAMES[kind](entry),
  }));

/** All that an inventory lists, in the order of a pass. */
export const objectsIn = (inventory: CompleteInventory): readonly ListedObject[] =>
  ObjectKind.options.flatMap((kind) => listedOf(inventory, kind));

export const pluralOf = (kind: ObjectKind): string => OBJECT_KINDS[kind].words[1];

/** `1 sandbox`, `2 sandboxes` */
export const countedKind = (count: number, kind: ObjectKind): string =>
  `${count} ${OBJECT_KINDS[kind].words[count === 1 ? 0 : 1]}`;

/** `<namespace>_<name>_<uid>` says it, `<uid>` alone does not (I2). */
export function namespaceOfLogDirectory(name: string): string | undefined {
  const [namespace, ...rest] = name.split('_');
  return rest.length === 2 ? namespace : undefined;
}

/** `<pod>_<namespace>_<container>-<id>.log` (G22). */
export function namespaceOfSymlink(name: string): string | undefined {
  const [, namespace, ...rest] = name.split('_');
  return rest.length === 1 ? namespace : undefined;
}
