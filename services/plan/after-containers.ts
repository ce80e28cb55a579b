import type { CompleteInventory, ImageUser, InventoryImage } from '../../schemas/events/inventory.ts';
import type { ContainerPlan } from '../container-gc/rules/plan.ts';

/**
 * The inventory once what is planned of containers and sandboxes is gone: images are decided on a fresh look, at which
 * those that only a removed container used are free (J21).
 */
export function afterContainers(
  inventory: CompleteInventory,
  { containers, sandboxes }: Pick<ContainerPlan, 'containers' | 'sandboxes'>,
): CompleteInventory {
  const gone = new Set([...containers, ...sandboxes].map(({ item: { id } }) => id));
  if (gone.size === 0) return inventory;
  const stays = ({ id }: { readonly id: string }): boolean => !gone.has(id);
  const uses = (user: ImageUser): boolean =>
    (user.kind !== 'container' && user.kind !== 'sandbox') || stays(user);
  const { wallTimeMs } = inventory.takenAt;
  return {
    ...inventory,
    containers: inventory.containers.filter(stays),
    sandboxes: inventory.sandboxes.filter(stays),
    containersWithoutImage: inventory.containersWithoutImage.filter((id) => !gone.has(id)),
    images: inventory.images.map((image) => released(image, uses, wallTimeMs)),
  };
}

/**
 * What was in use when the node was looked at was last used then, which is before the next look (D9). A time after the
 * look is not believed and goes on to keep the image.
 */
function released(
  image: InventoryImage,
  uses: (user: ImageUser) => boolean,
  takenAtMs: number,
): InventoryImage {
  const usedBy = image.usedBy.filter(uses);
  if (usedBy.length === image.usedBy.length) return image;
  const isFree = usedBy.length === 0 && image.lastUsedMs === takenAtMs;
  return { ...image, usedBy, lastUsedMs: isFree ? takenAtMs - 1 : image.lastUsedMs };
}
