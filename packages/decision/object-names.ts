import type { CompleteInventory, InventoryContainer } from '../../schemas/events/inventory.ts';

/**
 * Names of the objects of an inventory, by list and position, as verdicts refer to them. A restarted container has the name
 * of the one before; its attempt tells them apart.
 */
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
  containers: containers.map(({ id, name, pod, attempt }) =>
    pod === null ? id : `${podName(pod)}/${name}#${attempt}`,
  ),
  sandboxes: sandboxes.map(({ podUid, pod, attempt }) =>
    pod === null ? podUid : `${podName(pod)}#${attempt}`,
  ),
  podLogDirectories: (podLogDirectories ?? []).map(({ name }) => name),
  logSymlinks: (logSymlinks ?? []).map(({ name }) => name),
  images: images.map(({ id, repoTags, repoDigests }) => repoTags[0] ?? repoDigests[0] ?? id),
});

const podName = ({ namespace, name }: NonNullable<InventoryContainer['pod']>): string =>
  `${namespace}/${name}`;
