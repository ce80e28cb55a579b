import type { PolicyFile } from '../../../schemas/policy/policy-file.ts';
import type { PushedImage, Registry } from '../../support/nodes/registry.ts';
import type { FleetLog } from './fleet/fleet-log.ts';
import type { FleetNode } from './fleet/fleet-node.ts';

const MEBIBYTE = 1024 * 1024;
const IMAGE_MEBIBYTES = 6;
/** On a disk of this size one of the images takes 7 to 8 %. */
export const SMALL_DISK_MEBIBYTES = 160;
const IMAGES = 14;

export const HIGH_PERCENT = 75;
export const LOW_PERCENT = 50;
/** Images go as soon as the disk asks for it, however young they are. */
export const REMOVES_AT_ONCE = {
  mode: 'enforce',
  imageGCHighThresholdPercent: HIGH_PERCENT,
  imageGCLowThresholdPercent: LOW_PERCENT,
  imageMinimumGCAge: '-1s',
} as const satisfies Partial<PolicyFile>;

/** More equal images than a small disk can hold below the high threshold. */
export const pushEqualImages = (registry: Registry): Promise<readonly PushedImage[]> =>
  Promise.all(
    Array.from({ length: IMAGES }, (_, index) =>
      registry.push(`team/app-${index}`, '1', IMAGE_MEBIBYTES * MEBIBYTE),
    ),
  );

/** Pulls images that the node does not have, as a kubelet would, until its disk is used to the high threshold. */
export async function pullUntilPressed(
  node: FleetNode,
  images: readonly PushedImage[],
): Promise<readonly PushedImage[]> {
  const pulled: PushedImage[] = [];
  const there = new Set(await node.imageIds());
  for (const image of images.filter(({ id }) => !there.has(id))) {
    if (await isOrWasPressed(node, there)) return pulled;
    await node.pull(image);
    pulled.push(image);
    there.add(image.id);
  }
  throw new Error(`${images.length} images did not bring ${node.name} to ${HIGH_PERCENT} %`);
}

/** A node that lacks something of what was there has been pressed already, and is being relieved. */
async function isOrWasPressed(node: FleetNode, there: ReadonlySet<string>): Promise<boolean> {
  if ((await node.usedPercent()) >= HIGH_PERCENT) return true;
  const left = new Set(await node.imageIds());
  return [...there].some((id) => !left.has(id));
}

/** Pulls one image that the node does not have: the disk changes, so its statistics come at once. */
export async function pullAnother(node: FleetNode, images: readonly PushedImage[]): Promise<PushedImage> {
  const there = await node.imageIds();
  const another = images.find(({ id }) => !there.includes(id));
  if (!another) throw new Error(`${node.name} holds all images already`);
  await node.pull(another);
  return another;
}

/** Waits until the node's disk is used to the low threshold at most. */
export const relieved = (log: FleetLog, node: FleetNode, boundMs: number): Promise<true> =>
  log.until(
    `usage of ${node.cluster}/${node.name} to fall to ${LOW_PERCENT} %`,
    boundMs,
    async () => (await node.usedPercent()) <= LOW_PERCENT,
  );
