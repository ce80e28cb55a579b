import { type NodeIdentity, nodeKey } from '../../schemas/events/identity.ts';
import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import type { ObjectResult } from '../../schemas/events/result.ts';
import type { Instant } from '../../schemas/events/time.ts';

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
export function createPulledAgain() {
  const nodes = new Map<string, NodeImages>();

  const imagesOf = (identity: NodeIdentity): NodeImages => {
    const key = `${nodeKey(identity)} ${identity.nodeInstance}`;
    const known = nodes.get(key) ?? { listed: new Map(), removed: new Map() };
    nodes.set(key, known);
    return known;
  };

  return {
    /** A result that says that an image went; `atMs` by the log's clock. */
    removed: (result: ObjectResult, atMs: number): void => {
      const images = imagesOf(result);
      const { id } = result.object;
      const { at, rule } = result;
      images.removed.set(id, { at, rule, removedAtMs: atMs, listed: images.listed.get(id) ?? null });
    },
    /** What is there again since it went. */
    listed: (inventory: CompleteInventory, atMs: number): readonly ImageBack[] => {
      const images = imagesOf(inventory);
      const { cluster, node, takenAt } = inventory;
      images.listed = new Map(inventory.images.map((image) => [image.id, listedOf(image)]));
      return [...images.listed].flatMap(([imageId, { name }]) => {
        const removal = images.removed.get(imageId);
        if (removal === undefined || !isAfter(takenAt, removal.at)) return [];
        images.removed.delete(imageId);
        const { rule, removedAtMs, listed } = removal;
        const sizeBytes = listed?.sizeBytes ?? null;
        return [
          { node: { cluster, node }, imageId, name, rule, sizeBytes, removedAtMs, seenAgainAtMs: atMs },
        ];
      });
    },
  };
}

/** Times of one boot are compared; of two boots, the log's order counts. */
export const isAfter = (later: Instant, earlier: Instant): boolean =>
  later.bootId !== earlier.bootId || later.sinceBootMs > earlier.sinceBootMs;

const listedOf = ({ id, repoTags, repoDigests, sizeBytes }: CompleteInventory['images'][number]): Listed => ({
  name: imageName({ id, repoTags, repoDigests }),
  sizeBytes,
});

/** As people know an image: by a tag, else a digest. */
export const imageName = ({
  id,
  repoTags,
  repoDigests,
}: Pick<CompleteInventory['images'][number], 'id' | 'repoTags' | 'repoDigests'>): string =>
  repoTags[0] ?? repoDigests[0] ?? id;
