import { type NodeIdentity, SUBJECTS } from '../../../schemas/events/identity.ts';
import type { CompleteInventory, InventoryImage } from '../../../schemas/events/inventory.ts';
import type { ObjectResult } from '../../../schemas/events/result.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import { nameOf } from '../../decision/inventory-entries.ts';
import { isAfter } from './log-position.ts';

/** A removed image that its node lists again. */
export interface ImageBack {
  readonly node: Pick<NodeIdentity, 'cluster' | 'node'>;
  readonly imageId: string;
  readonly name: string;
  readonly rule: string;
  /** `null` where no inventory was seen that lists it before it went. */
  readonly sizeBytes: number | null;
  readonly removedAtMs: number;
  readonly seenAgainAtMs: number;
}

interface Removal {
  readonly at: Instant;
  readonly rule: string;
  readonly removedAtMs: number;
  readonly listed: Listed | null;
}

interface Listed {
  readonly name: string;
  readonly sizeBytes: number;
}

interface NodeImages {
  listed: ReadonlyMap<string, Listed>;
  readonly removed: Map<string, Removal>;
}

/** Follows the images of nodes in the order of the log, one inventory of each at a time. */
export class ImagesPulledAgain {
  readonly #nodes = new Map<string, NodeImages>();

  /** A result that says that an image went; `atMs` by the log's clock. */
  removed(result: ObjectResult, atMs: number): void {
    const images = this.#imagesOf(result);
    const { id } = result.object;
    const { at, rule } = result;
    images.removed.set(id, { at, rule, removedAtMs: atMs, listed: images.listed.get(id) ?? null });
  }

  /** What is there again since it went. */
  listed(inventory: CompleteInventory, atMs: number): readonly ImageBack[] {
    const images = this.#imagesOf(inventory);
    const { cluster, node, takenAt } = inventory;
    images.listed = new Map(inventory.images.map((image) => [image.id, listedOf(image)]));
    return [...images.listed].flatMap(([imageId, { name }]) => {
      const removal = images.removed.get(imageId);
      if (removal === undefined || !isAfter(takenAt, removal.at)) return [];
      images.removed.delete(imageId);
      const { rule, removedAtMs, listed } = removal;
      const sizeBytes = listed?.sizeBytes ?? null;
      return [{ node: { cluster, node }, imageId, name, rule, sizeBytes, removedAtMs, seenAgainAtMs: atMs }];
    });
  }

  #imagesOf(identity: NodeIdentity): NodeImages {
    const key = SUBJECTS.node.installationOf(identity);
    const known = this.#nodes.get(key) ?? { listed: new Map(), removed: new Map() };
    this.#nodes.set(key, known);
    return known;
  }
}

const listedOf = (image: InventoryImage): Listed => ({
  name: nameOf('image', image),
  sizeBytes: image.sizeBytes,
});
