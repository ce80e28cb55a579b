import {
  type CompleteInventory,
  type InventoryContainer,
  MAX_INVENTORY_OBJECTS,
} from '../../../schemas/events/inventory.ts';
import { isBoundedText } from './bounded-text.ts';
import type { ContainerName, NameRow } from './rows.ts';

/** No agent lists more objects, and few images have several names. */
const MOST_NAMES = 2 * MAX_INVENTORY_OBJECTS;

type Named = Pick<NameRow, 'kind' | 'id' | 'name'>;

/** By which names what a node lists can be found, and how many names are too many, or too long to be one. */
export function namesIn(inventory: CompleteInventory): {
  readonly names: readonly Named[];
  readonly leftOut: number;
} {
  const all = [...imageNames(inventory), ...podNames(inventory)];
  const names = all.filter(({ id, name }) => isBoundedText(id) && isBoundedText(name)).slice(0, MOST_NAMES);
  return { names, leftOut: all.length - names.length };
}

const imageNames = ({ images }: CompleteInventory): readonly Named[] =>
  images.flatMap(({ id, repoTags, repoDigests }) => {
    const names = repoTags.length > 0 ? repoTags : repoDigests;
    return (names.length > 0 ? names : [id]).map((name): Named => ({ kind: 'image', id, name }));
  });

const podNames = ({ sandboxes }: CompleteInventory): readonly Named[] =>
  sandboxes.flatMap(({ pod }): readonly Named[] =>
    pod === null ? [] : [{ kind: 'pod', id: pod.uid, name: `${pod.namespace}/${pod.name}` }],
  );

/** As many characters of ids and names are kept of one node; a node with 110 pods has a third of it. */
const MOST_CHARACTERS = 65_536;

const containerNameOf = ({ pod, name }: InventoryContainer): string =>
  pod === null ? name : `${pod.namespace}/${pod.name}/${name}`;

/** By what its containers can be found. */
export function containerNames({ containers }: CompleteInventory): readonly ContainerName[] {
  const names: ContainerName[] = [];
  let left = MOST_CHARACTERS;
  for (const container of containers) {
    const [id, name] = [container.id.toWellFormed(), containerNameOf(container).toWellFormed()];
    left -= id.length + name.length;
    if (left < 0) break;
    names.push([id, name]);
  }
  return names;
}
