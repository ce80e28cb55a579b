import type { CompleteInventory } from '../../../schemas/inventory.ts';
import { namesIn } from '../../shared/decision/object-names.ts';
import { nearestNames } from '../../shared/nearest-name.ts';
import { podNamesIn } from './seen-objects.ts';

const MOST_NAMES = 5;

/** Names that may have been meant: those of which the text is a part, then those that differ little. */
export function nearNames(text: string, names: ReadonlySet<string>): string[] {
  const containing = [...names]
    .filter((name) => name.includes(text))
    .toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1));
  return [...new Set([...containing.slice(0, MOST_NAMES), ...nearestNames(text, names, MOST_NAMES)])].slice(
    0,
    MOST_NAMES,
  );
}

/** What the objects of an inventory may be asked for by, in short and in full. */
export function askableNames(inventory: CompleteInventory): string[] {
  const { images, containers, sandboxes } = namesIn(inventory);
  const pods = [...podNamesIn(inventory).values()];
  return [...images, ...containers, ...sandboxes, ...pods].flatMap((name) => [
    name,
    name.slice(name.lastIndexOf('/') + 1),
  ]);
}
