import type { CompleteInventory, InventoryImage } from '../../../schemas/inventory.ts';
import type { Measured, ObjectResult } from '../../../schemas/result.ts';
import type { Instant } from '../../../schemas/time.ts';
import { imageName, isAfter } from '../pulled-again.ts';
import type { Alteration } from './altered-inventory.ts';
import type { PlannedImage } from './decide-images.ts';
import type { RegrettedImage } from './side.ts';

/** An image that went in the simulation. */
interface Gone {
  readonly name: string;
  readonly sizeBytes: number;
  readonly estimatedBytes: bigint;
  readonly atMs: number;
  /** By the node's wall clock, as times of use are. */
  readonly wallTimeMs: number;
  /** The real node does not have it any more either. */
  goneInReality: boolean;
}

/** An image that the real node removed and the simulated one has still. */
interface Stays {
  readonly image: InventoryImage;
  readonly bytes: bigint;
}

/** An image that really went, until an inventory shows it. */
interface Went extends Stays {
  readonly at: Instant;
  readonly atMs: number;
}

/** Real removals show in an inventory soon; one that does not is a difference. */
const SETTLED_MS = 5 * 60_000;

/**
 * The images of one node as they would be. It follows the recorded inventories: an image that went stays away until the
 * real node uses it or pulls it again, and one that really went and would have stayed takes up its space until then.
 */
export function createSimulatedImages(regretWindowMs: number) {
  const gone = new Map<string, Gone>();
  const stays = new Map<string, Stays>();
  const reallyWent = new Map<string, Went>();
  const regretted: RegrettedImage[] = [];
  let listed: ReadonlyMap<string, InventoryImage> = new Map();
  let estimatedFromMs: number | null = null;

  const differsFrom = (atMs: number): void => {
    estimatedFromMs = Math.min(estimatedFromMs ?? atMs, atMs);
  };

  const needed = (
    imageId: string,
    { name, sizeBytes, atMs, goneInReality }: Gone,
    neededAtMs: number,
  ): void => {
    gone.delete(imageId);
    if (!goneInReality) differsFrom(atMs);
    if (neededAtMs - atMs <= regretWindowMs)
      regretted.push({ imageId, name, sizeBytes, removedAtMs: atMs, neededAtMs });
  };

  const followGone = (id: string, image: Gone, atMs: number): void => {
    const there = listed.get(id);
    if (there === undefined) image.goneInReality = true;
    else if (image.goneInReality || isUsedSince(there, image.wallTimeMs)) needed(id, image, atMs);
    else if (atMs - image.atMs > SETTLED_MS) differsFrom(image.atMs);
  };

  const followWent = (id: string, { image, bytes, at, atMs }: Went, takenAt: Instant): void => {
    const isListed = listed.has(id);
    if (isListed && !isAfter(takenAt, at)) return;
    reallyWent.delete(id);
    if (isListed || gone.has(id)) return;
    stays.set(id, { image, bytes });
    differsFrom(atMs);
  };

  const forget = (atMs: number): void => {
    for (const id of listed.keys()) stays.delete(id);
    for (const [id, image] of gone)
      if (image.goneInReality && atMs - image.atMs > regretWindowMs) gone.delete(id);
  };

  return {
    /** A recorded inventory, before anything is decided on it. */
    follow: ({ images, takenAt }: CompleteInventory, atMs: number): void => {
      listed = new Map(images.map((image) => [image.id, image]));
      for (const [id, image] of gone) followGone(id, image, atMs);
      for (const [id, went] of reallyWent) followWent(id, went, takenAt);
      forget(atMs);
    },
    /** An image that really went, and what that freed. */
    wentAway: ({ object: { id }, at }: ObjectResult, measured: Measured | null, atMs: number): void => {
      const image = listed.get(id);
      if (image === undefined) return;
      const freed = measured && BigInt(measured.afterBytes) - BigInt(measured.beforeBytes);
      const bytes = freed !== null && freed > 0n ? freed : BigInt(image.sizeBytes);
      reallyWent.set(id, { image, bytes, at, atMs });
    },
    /** Takes away what a simulated command names. */
    remove: (items: readonly PlannedImage[], { takenAt }: CompleteInventory, atMs: number): void => {
      for (const { id, estimatedBytes } of items) {
        const image = listed.get(id) ?? stays.get(id)?.image;
        if (image === undefined) continue;
        gone.set(id, {
          name: imageName(image),
          sizeBytes: image.sizeBytes,
          estimatedBytes: BigInt(estimatedBytes),
          atMs,
          wallTimeMs: takenAt.wallTimeMs,
          goneInReality: !listed.has(id),
        });
        stays.delete(id);
      }
    },
    alteration: (): Alteration => {
      const absent = [...gone].filter(([id]) => listed.has(id));
      const freed = absent.reduce((sum, [, { estimatedBytes }]) => sum + estimatedBytes, 0n);
      const held = [...stays.values()].reduce((sum, { bytes }) => sum + bytes, 0n);
      return {
        absent: new Set(absent.map(([id]) => id)),
        extra: [...stays.values()].map(({ image }) => image),
        freedBytes: freed - held,
      };
    },
    /** At the end, when nothing more comes that could show a real removal. */
    told: () => {
      for (const { goneInReality, atMs } of gone.values()) if (!goneInReality) differsFrom(atMs);
      return { regretted, estimatedFromMs };
    },
  };
}

const isUsedSince = ({ usedBy, lastUsedMs }: InventoryImage, wallTimeMs: number): boolean =>
  usedBy.length > 0 || (lastUsedMs ?? 0) > wallTimeMs;
