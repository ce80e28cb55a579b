import type { CompleteInventory, ImageUser, InventoryImage } from '../../../schemas/inventory.ts';
import type { Policy } from '../../../schemas/policy.ts';

export interface Users {
  /** Who makes an image one in use. */
  readonly usersOf: (image: InventoryImage) => readonly ImageUser[];
  /** A container or sandbox that the kubelet did not create (M41). */
  readonly isNotOurs: (user: ImageUser) => boolean;
}

/**
 * Who uses the images of one inventory: containers in any state (C8), and in our own profile also pods that are still to
 * start and sandboxes (C10). To the kubelet a container is a container, whoever created it.
 */
export const usersIn = (inventory: CompleteInventory, profile: Policy['profile']): Users =>
  profile === 'kubelet' ? asTheKubelet(inventory) : asWe(inventory);

const asTheKubelet = (inventory: CompleteInventory): Users => {
  const named = namedBy(inventory);
  return {
    usersOf: (image) =>
      orElse(
        image.usedBy.filter(({ kind }) => kind === 'container'),
        () => named(image),
      ),
    isNotOurs: () => false,
  };
};

function asWe(inventory: CompleteInventory): Users {
  const { containers, sandboxes } = inventory;
  const notOurs = new Set(
    [...containers, ...sandboxes].filter(({ pod }) => pod === null).map(({ id }) => id),
  );
  const named = namedBy(inventory);
  return {
    usersOf: (image) => orElse(image.usedBy, () => named(image)),
    isNotOurs: ({ kind, id }) => (kind === 'container' || kind === 'sandbox') && notOurs.has(id),
  };
}

const orElse = (users: readonly ImageUser[], others: () => readonly ImageUser[]) =>
  users.length > 0 ? users : others();

/** An agent lists users with the image; a container that names the image's id is one in any case (C8). */
function namedBy({ containers }: CompleteInventory): (image: InventoryImage) => readonly ImageUser[] {
  const users = new Map(containers.map(({ id, imageId }) => [imageId, id]));
  return ({ id }) => {
    const user = users.get(id);
    return user === undefined ? [] : [{ kind: 'container', id: user }];
  };
}
