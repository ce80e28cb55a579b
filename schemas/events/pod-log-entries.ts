import { z } from 'zod';
import { Backoff } from './object-kinds.ts';

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

/** The containers that a symlink's id can mean: the one of that id, else all whose ids begin with it (I8). */
export function containersOfSymlink<T extends { readonly id: string }>(
  id: string,
  containers: readonly T[],
): readonly T[] {
  const begun = containers.filter((container) => container.id.startsWith(id));
  const exact = begun.filter((container) => container.id === id);
  return exact.length > 0 ? exact : begun;
}
