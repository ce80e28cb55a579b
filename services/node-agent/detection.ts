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
