import type { CompleteInventory } from '../../../schemas/inventory.ts';

/** Names of the objects of an inventory, by list and position, as verdicts refer to them. */
export interface ObjectNames {
  readonly containers: readonly string[];
  readonly sandboxes: readonly string[];
  readonly podLogDirectories: readonly string[];
  readonly logSymlinks: readonly string[];
  readonly images: readonly string[];
}

export const namesIn = ({
  images,
  containers,
  sandboxes,
  podLogDirectories,
  logSymlinks,
}: CompleteInventory): ObjectNames => ({
  containers: containers.map(({ id, name, pod }) => (pod === null ? id : `${pod.name}/${name}`)),
  sandboxes: sandboxes.map(({ podUid, pod }) => pod?.name ?? podUid),
  podLogDirectories: (podLogDirectories ?? []).map(({ name }) => name),
  logSymlinks: (logSymlinks ?? []).map(({ name }) => name),
  images: images.map(({ id, repoTags, repoDigests }) => repoTags[0] ?? repoDigests[0] ?? id),
});
