/** What is remembered of an image, in milliseconds since boot; negative before this boot. */
export interface ImageRecord {
  readonly firstDetectedMs: number;
  /** `null`: no detection ever saw it in use. */
  readonly lastUsedMs: number | null;
}

/** By `imageKey`. */
export type ImageRecords = ReadonlyMap<string, ImageRecord>;

export interface DetectedImage {
  readonly id: string;
  readonly runtimeHandler: string;
}

/** An image that was removed at this time, as far as that can be told. */
export interface RemovedImage {
  readonly id: string;
  readonly bootId: string;
  readonly sinceBootMs: number;
}

/**
 * The records without those of images that went after they were detected (D12): what is listed under their ids now is
 * another image. Of a removal before this boot that much is known: it was before all that was detected since.
 */
export function withoutRemoved(
  records: ImageRecords,
  removed: readonly RemovedImage[],
  bootId: string,
): ImageRecords {
  const wentMs = new Map(
    removed.map((image) => [image.id, image.bootId === bootId ? image.sinceBootMs : 0] as const),
  );
  const hasGone = (key: string, { firstDetectedMs }: ImageRecord): boolean =>
    firstDetectedMs <= (wentMs.get(key.split(',', 1)[0] ?? key) ?? Number.NEGATIVE_INFINITY);
  return new Map([...records].filter(([key, record]) => !hasGone(key, record)));
}

/** The image id, with the runtime handler where the runtime names one (C2). */
export const imageKey = ({ id, runtimeHandler }: DetectedImage): string =>
  runtimeHandler === '' ? id : `${id},${runtimeHandler}`;

/**
 * One detection (C3, C4). `inUse` holds image ids, `nowMs` is taken after the last listing: an image that appeared
 * while the runtime answered must not count as older than it is, and one that was in use then as longer unused.
 */
export function detect(
  records: ImageRecords,
  images: readonly DetectedImage[],
  inUse: ReadonlySet<string>,
  nowMs: number,
): ImageRecords {
  return new Map(
    images.map((image) => {
      const record = records.get(imageKey(image)) ?? { firstDetectedMs: nowMs, lastUsedMs: null };
      return [imageKey(image), inUse.has(image.id) ? { ...record, lastUsedMs: nowMs } : record];
    }),
  );
}
