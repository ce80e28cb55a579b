import { type ContentReading, type ImageContents, NOBODY_TELLS } from './content-reading.ts';
import { detectedImages } from './inventory-objects.ts';
import type { Look } from './look.ts';

/** What containerd tells of the images of a look; of one that is incomplete nobody is asked. Never rejects. */
export type ContentsOfLook = (look: Look) => Promise<ImageContents>;

/** Asks once for each look: the answer belongs to its moment, whoever wants it. */
export function contentsOfLooks(contentsOf: ContentReading): ContentsOfLook {
  const asked = new WeakMap<Look, Promise<ImageContents>>();
  return (look) => {
    const contents =
      asked.get(look) ??
      (look.status === 'complete' ? contentsOf(detectedImages(look)) : Promise.resolve(NOBODY_TELLS));
    asked.set(look, contents);
    return contents;
  };
}
