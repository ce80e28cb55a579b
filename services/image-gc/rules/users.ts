import { endOf } from '../../../packages/decision/listing.ts';
import type {
  CompleteInventory,
  ImageUser,
  InventoryContainer,
  InventoryImage,
} from '../../../schemas/events/inventory.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';

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
    usersOf: (image) => {
      const users = image.usedBy.filter(({ kind }) => kind === 'container');
      return users.length > 0 ? users : named(image);
    },
    isNotOurs: () => false,
  };
};

function asWe(inventory: CompleteInventory): Users {
  const { containers, sandboxes } = inventory;
  const notOurs = new Set(
    [...containers.filter(isOfNoPod), ...sandboxes.filter(isOfNoPod)].map(({ id }) => id),
  );
  const named = namedBy(inventory);
  return {
    usersOf: (image) => (image.usedBy.length > 0 ? image.usedBy : named(image)),
    isNotOurs: ({ kind, id }) =>
      notOurs.size > 0 && (kind === 'container' || kind === 'sandbox') && notOurs.has(id),
  };
}

const isOfNoPod = ({ pod }: Pick<InventoryContainer, 'pod'>): boolean => pod === null;

const NOBODY: readonly ImageUser[] = [];

/**
 * An agent lists users with the image; a container that names the image's id is one in any case (C8). Hardly ever is there one
 * that was not listed, so nearly all images are told by the ends of the names alone.
 */
function namedBy({ containers }: CompleteInventory): (image: InventoryImage) => readonly ImageUser[] {
  let users: ReadonlyMap<string, string> | undefined;
  const ends = new Set(containers.map(({ imageId }) => endOf(imageId)));
  return ({ id }) => {
    if (!ends.has(endOf(id))) return NOBODY;
    users ??= new Map(containers.map((container) => [container.imageId, container.id]));
    const user = users.get(id);
    return user === undefined ? NOBODY : [{ kind: 'container', id: user }];
  };
}
