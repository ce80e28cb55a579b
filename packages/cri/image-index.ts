import {
  type ImageReference,
  isAbbreviationOf,
  keysOfImage,
  parseReference,
  repositoriesOfImage,
  repositoryOf,
} from './image-names.ts';
import type { RuntimeImage } from './port.ts';

/** Listed images by everything they may be called. */
export interface ImageIndex {
  readonly images: readonly RuntimeImage[];
  readonly ids: ReadonlySet<string>;
  readonly byKey: ReadonlyMap<string, ReadonlySet<string>>;
  readonly byRepository: ReadonlyMap<string, ReadonlySet<string>>;
}

export const indexImages = (images: readonly RuntimeImage[]): ImageIndex => ({
  images,
  ids: new Set(images.map(({ id }) => id)),
  byKey: idsBy(images, keysOfImage),
  byRepository: idsBy(images, repositoriesOfImage),
});

/** Ids of all images that `references`, which are all of one image, name. */
export function lookUp(index: ImageIndex, references: readonly string[]): Set<string> {
  const parsed = references.flatMap((reference) => parseReference(reference) ?? []);
  return new Set([
    ...idsAsWritten(index, references),
    ...parsed.flatMap((one) => idsByDigest(index, one)),
    ...parsed.flatMap(idsIn(index.byKey)),
  ]);
}

/**
 * As `lookUp`; but where no id or digest leads to a listed image, every version of the named repository may be it: tags
 * move while containers live.
 */
export function lookUpAnyVersion(index: ImageIndex, references: readonly string[]): Set<string> {
  const named = lookUp(index, references);
  const parsed = references.flatMap((reference) => parseReference(reference) ?? []);
  const isFound = (reference: ImageReference): boolean => idsByDigest(index, reference).length > 0;
  if (idsAsWritten(index, references).length > 0 || parsed.some(isFound)) return named;
  return new Set([...named, ...parsed.flatMap(idsIn(index.byRepository, repositoryOf))]);
}

/** An id may be any text: runtimes choose it. */
const idsAsWritten = ({ ids }: ImageIndex, references: readonly string[]): readonly string[] =>
  references.filter((reference) => ids.has(reference));

/** Whether a reference says anything of an image. */
export const isUsable = ({ ids }: ImageIndex, reference: string): boolean =>
  ids.has(reference) || parseReference(reference) !== undefined;

const idsIn =
  (ids: ReadonlyMap<string, ReadonlySet<string>>, keyOf = (name: string) => name) =>
  ({ names }: ImageReference): string[] =>
    names.flatMap((name) => [...(ids.get(keyOf(name)) ?? [])]);

function idsByDigest({ images, byKey }: ImageIndex, { digests, abbreviation }: ImageReference): string[] {
  const whole = digests.flatMap((digest) => [...(byKey.get(digest) ?? [])]);
  if (abbreviation === undefined) return whole;
  return [...whole, ...images.filter((image) => isAbbreviationOf(abbreviation, image)).map(({ id }) => id)];
}

function idsBy(
  images: readonly RuntimeImage[],
  keysOf: (image: RuntimeImage) => readonly string[],
): Map<string, Set<string>> {
  const ids = new Map<string, Set<string>>();
  for (const image of images)
    for (const key of keysOf(image)) ids.set(key, (ids.get(key) ?? new Set<string>()).add(image.id));
  return ids;
}
