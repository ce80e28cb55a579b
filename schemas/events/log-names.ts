/** What the names of log entries say, as the kubelet writes them (I2, I5, G22). */

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
