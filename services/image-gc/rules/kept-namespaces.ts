import type { CompleteInventory, ImageUser, InventoryImage } from '../../../schemas/events/inventory.ts';

/**
 * Whether an image has a user in one of the kept namespaces; the answer is that user's namespace. The namespace of a pod
 * without a container or sandbox is not told: it may be a kept one, and the answer is `unknown`.
 */
export function keptNamespaceOf(
  { containers, sandboxes }: CompleteInventory,
  namespaces: readonly string[],
): (image: InventoryImage) => string | undefined {
  if (namespaces.length === 0) return () => undefined;
  const kept = new Set(namespaces);
  const podOf = new Map<string, string>();
  for (const { id, pod } of [...containers, ...sandboxes]) {
    if (pod === null) continue;
    podOf.set(id, pod.namespace);
    podOf.set(pod.uid, pod.namespace);
  }
  const namespaceOf = ({ kind, id }: ImageUser): string | undefined =>
    podOf.get(id) ?? (kind === 'pod' ? UNKNOWN : undefined);
  return ({ usedBy }) =>
    usedBy
      .map(namespaceOf)
      .find((namespace) => namespace !== undefined && (namespace === UNKNOWN || kept.has(namespace)));
}

const UNKNOWN = 'unknown';
