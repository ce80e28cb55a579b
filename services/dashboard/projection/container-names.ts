import type { CompleteInventory, InventoryContainer } from '../../../schemas/events/inventory.ts';

/** A container of a node's newest inventory: its id, and a name of what is its own to say. */
export type ContainerName = readonly [id: string, name: string];

/** As many characters of ids and names are kept of one node; a node with 110 pods has a third of it. */
const MOST_CHARACTERS = 65_536;

const nameOf = ({ pod, name }: InventoryContainer): string =>
  pod === null ? name : `${pod.namespace}/${pod.name}/${name}`;

/** By what its containers can be found. */
export function containerNames({ containers }: CompleteInventory): readonly ContainerName[] {
  const names: ContainerName[] = [];
  let left = MOST_CHARACTERS;
  for (const container of containers) {
    const [id, name] = [container.id.toWellFormed(), nameOf(container).toWellFormed()];
    left -= id.length + name.length;
    if (left < 0) break;
    names.push([id, name]);
  }
  return names;
}
