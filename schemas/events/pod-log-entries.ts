import { z } from 'zod';
import { Backoff } from './object-kinds.ts';
import { compareText } from './text-order.ts';

/** What a directory can list: never a way out of it. */
const EntryName = z.string().regex(/^(?!\.{1,2}$)[^/\0]+$/, 'must be the name of an entry of a directory');

/** An entry of the directory of pod logs, file or directory alike (I1). */
export const InventoryPodLogDirectory = z.object({
  name: EntryName,
  /** The last `_`-separated field of the name (I2); may be empty. */
  podUid: z.string(),
  backoff: Backoff.nullable().default(null),
});
export type InventoryPodLogDirectory = z.infer<typeof InventoryPodLogDirectory>;

/**
 * What the container of a symlink, by the id in its name (I5), is said to be: the name holds no id; the runtime has no
 * answer for it, also when it knows none of that id; an empty answer; or its state. `unknown`: more than one container
 * could be meant.
 */
export const SymlinkContainer = z.enum([
  'unreadable',
  'no-answer',
  'empty',
  'not-exited',
  'exited',
  'unknown',
]);

/** A `*.log` of the directory of container logs whose target does not exist (I4). */
export const InventoryLogSymlink = z.object({
  name: EntryName,
  container: SymlinkContainer,
  backoff: Backoff.nullable().default(null),
});
export type InventoryLogSymlink = z.infer<typeof InventoryLogSymlink>;

/** The pod of an entry of the directory of pod logs: `<uid>` or `<namespace>_<name>_<uid>` (I2); may be empty. */
export const podUidOfLogDirectory = (name: string): string => name.slice(name.lastIndexOf('_') + 1);

const SYMLINK_SUFFIX = '.log';
const LEAST_ID_LENGTH = 6;

/** The container id, or the beginning of one (I8), in the name of a flat symlink (I5); `null` when it holds none. */
export function containerIdOfSymlink(name: string): string | null {
  const dash = name.lastIndexOf('-');
  if (dash < 0 || !name.endsWith(SYMLINK_SUFFIX)) return null;
  const id = name.slice(dash + 1, -SYMLINK_SUFFIX.length);
  return id.length < LEAST_ID_LENGTH ? null : id;
}

/**
 * The containers that a symlink's id can mean: the one of that id, else all whose ids begin with it, in the order of the list (I8).
 * Sorted once, so that many symlinks on a node with many containers cost no more than both together.
 */
export function containersOfSymlinks<T extends { readonly id: string }>(
  containers: readonly T[],
): (id: string) => readonly T[] {
  const places = containers
    .map(({ id }, place) => ({ id, place }))
    .toSorted((a, b) => compareText(a.id, b.id) || a.place - b.place);
  return (id) => {
    let first = 0;
    for (let end = places.length; first < end; ) {
      const middle = (first + end) >> 1;
      if ((places[middle]?.id ?? '') < id) first = middle + 1;
      else end = middle;
    }
    const isExact = places[first]?.id === id;
    const found: number[] = [];
    for (let at = first; at < places.length; at += 1) {
      const { id: one, place } = places[at] ?? { id: '', place: 0 };
      if (isExact ? one !== id : !one.startsWith(id)) break;
      found.push(place);
    }
    return found.sort((a, b) => a - b).flatMap((place) => containers[place] ?? []);
  };
}
