import { createHash } from 'node:crypto';
import type {
  CompleteInventory,
  InventoryContainer,
  InventoryImage,
} from '../../schemas/events/inventory.ts';
import { container, image, inventory } from '../../test/fixtures/inventory.ts';
import { GIB } from '../../test/fixtures/time.ts';

const DISK_BYTES = 100 * GIB;
const AVAILABLE_BYTES = 10 * GIB;
const TARGET_BYTES = 20 * GIB;
const IMAGE_BYTES = 400_000_000;
const TEAMS = 12;

/** Digests as real ones: they do not compress. The same in every run. */
export const digestOf = (...parts: readonly (string | number)[]): string =>
  createHash('sha256').update(parts.join('/')).digest('hex');

interface InventorySize {
  readonly images: number;
  readonly containers: number;
}

/** A full node at the step `images` of a reclaim: image-gc answers it with a command. */
export function fullNode(node: string, { images, containers }: InventorySize): CompleteInventory {
  const listed = Array.from({ length: images }, (_, index) => imageOf(node, index));
  const running = Array.from({ length: containers }, (_, index) => containerOf(node, index, listed));
  const reading = {
    mountpoint: '/var/lib/containerd',
    device: '259:1',
    capacityBytes: String(DISK_BYTES),
    availableBytes: String(AVAILABLE_BYTES),
    inodes: '6553600',
    inodesFree: '5242880',
  };
  return inventory({
    node,
    filesystems: { nodefs: reading, imagefs: reading, containerfs: reading },
    reclaim: {
      id: `reclaim-${digestOf(node).slice(0, 32)}`,
      cause: {
        signal: 'imageGC',
        threshold: '85%',
        reading: '90%',
        policy: 'default',
        eventId: digestOf(node),
      },
      target: { filesystem: 'imagefs', resource: 'availableBytes', atLeast: String(TARGET_BYTES) },
      actions: ['containers', 'images'],
      step: 'images',
      round: 1,
    },
    images: listed.map((listedImage) => ({
      ...listedImage,
      usedBy: running
        .filter(({ imageId }) => imageId === listedImage.id)
        .map(({ id }) => ({ kind: 'container', id })),
    })),
    containers: running,
  });
}

function imageOf(node: string, index: number): InventoryImage {
  const repository = `registry.example.com/team-${index % TEAMS}/service-${index}`;
  const tag = digestOf('tag', node, index).slice(0, 8);
  return image(`sha256:${digestOf('image', node, index)}`, {
    repoTags: [`${repository}:${tag}`],
    repoDigests: [`${repository}@sha256:${digestOf('manifest', node, index)}`],
    sizeBytes: IMAGE_BYTES + index,
  });
}

function containerOf(node: string, index: number, images: readonly InventoryImage[]): InventoryContainer {
  const uid = digestOf('pod', node, index).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
  return container(digestOf('container', node, index), {
    name: `service-${index}`,
    pod: { uid, name: `service-${index}-${uid.slice(0, 5)}`, namespace: `team-${index % TEAMS}` },
    sandboxId: digestOf('sandbox', node, index),
    state: 'running',
    imageId: images[Math.floor(index / 2)]?.id ?? '',
    logPath: `/var/log/pods/team-${index % TEAMS}_service-${index}_${uid}/service-${index}/0.log`,
  });
}
