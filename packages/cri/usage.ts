import type { z } from 'zod';
import type { ImageUser as ImageUserSchema } from '../../schemas/events/inventory.ts';
import {
  type ImageReference,
  isAbbreviationOf,
  isWholeId,
  keysOfImage,
  parseReference,
  repositoriesOfImage,
  repositoryOf,
} from './image-names.ts';
import type { KubeletPod } from './kubelet/pod-source.ts';
import type { CompleteListing, ListedContainer } from './listing-types.ts';
import type { ImageSpec, OtherUse, RuntimeImage } from './port.ts';

export type ImageUser = z.infer<typeof ImageUserSchema>;

/** Who uses which image. */
export interface ImageUsage {
  /** An entry for every listed image id; an image whose list is empty is not in use. */
  readonly users: ReadonlyMap<string, readonly ImageUser[]>;
  /** Ids of containers that use we do not know which image: while there is one, no image may go (C8). */
  readonly containersWithoutImage: readonly string[];
  /** False: the image that sandboxes need could be any of the listed ones (M9). */
  readonly sandboxImageKnown: boolean;
  /** False: pods may want any of the listed images, since nobody told yet (C10, M5). */
  readonly podImagesKnown: boolean;
}

interface Use {
  readonly user: ImageUser;
  readonly references: readonly string[];
  readonly find: typeof lookUp;
}

/** What pods want, as far as a kubelet told; `null` while the configured one has told nothing yet. */
export type WantedByPods = readonly Pick<KubeletPod, 'uid' | 'images' | 'finished'>[] | null;

/**
 * The one answer to "which images are in use", for agent and executor alike. A container in any state uses its image
 * (C8) and those it mounts (M19); a pod that is not finished wants its images (M3, C10); sandboxes use theirs (M9), and
 * so does what containerd knows beside CRI.
 * Where a reference may mean several images, it uses them all.
 */
export function imageUsage(listing: CompleteListing, wantedByPods: WantedByPods): ImageUsage {
  const index = indexImages(listing.images);
  const users = new Map<string, ImageUser[]>(listing.images.map(({ id }) => [id, []]));
  for (const one of [...usesOfRuntime(listing), ...usesOfPods(wantedByPods ?? [])])
    addUser(users, one.user, one.find(index, one.references));
  for (const one of listing.otherUses) addUser(users, one.user, imagesOfOther(index, one));
  return {
    users,
    containersWithoutImage: listing.containers
      .filter((container) => isWithoutImage(container, index))
      .map(({ id }) => id),
    sandboxImageKnown: isSandboxImageKnown(listing, index),
    podImagesKnown: wantedByPods !== null,
  };
}

function usesOfRuntime({ containers, sandboxes, configuredSandboxImage }: CompleteListing): Use[] {
  return [
    ...containers.flatMap(usesOfContainer),
    ...sandboxes.map(({ id, image }) => use({ kind: 'sandbox', id }, image)),
    use({ kind: 'sandbox-image', id: configuredSandboxImage }, configuredSandboxImage),
  ];
}

function usesOfContainer(container: ListedContainer): Use[] {
  const user: ImageUser = { kind: 'container', id: container.id };
  return imagesOf(container).map((references) => ({ user, references, find: lookUpAnyVersion }));
}

const usesOfPods = (pods: NonNullable<WantedByPods>): Use[] =>
  pods
    .filter(({ finished }) => !finished)
    .flatMap(({ uid, images }) => images.map((image) => use({ kind: 'pod', id: uid }, image)));

const use = (user: ImageUser, reference: string): Use => ({ user, references: [reference], find: lookUp });

/** For each image that the container needs, everything by which it is called. */
const imagesOf = ({ imageId, imageRef, image, mountedImages }: ListedContainer): string[][] => [
  [imageId, imageRef, ...namesIn(image)],
  ...mountedImages.map(namesIn),
];

const namesIn = ({ image, userSpecifiedImage, imageRef }: ImageSpec): string[] => [
  image,
  userSpecifiedImage,
  imageRef,
];

/** Where containerd does not tell which image a name means, it may be any version of it, as with containers of CRI. */
const imagesOfOther = (index: ImageIndex, { imageIds, references }: OtherUse): Set<string> =>
  imageIds.length > 0
    ? new Set([...imageIds, ...lookUp(index, references)])
    : lookUpAnyVersion(index, references);

function addUser(users: Map<string, ImageUser[]>, user: ImageUser, imageIds: Iterable<string>): void {
  for (const imageId of imageIds) {
    const known = users.get(imageId);
    if (known && !known.some(({ kind, id }) => kind === user.kind && id === user.id)) known.push(user);
  }
}

/** Whether what it says of one of its images says nothing; or, while it may run, leads to no listed image. */
const isWithoutImage = (container: ListedContainer, index: ImageIndex): boolean =>
  imagesOf(container).some(
    (references) =>
      !references.some((reference) => isUsable(index, reference)) ||
      (container.state !== 'exited' && leadsNowhere(index, references, container.imageId)),
  );

/**
 * The runtime may list the image under other names, as after a pull through a mirror, so it may be any. The id of the
 * container's own image is exact: where none is listed under it, the image is gone.
 */
const leadsNowhere = (index: ImageIndex, references: readonly string[], imageId: string): boolean =>
  lookUpAnyVersion(index, references).size === 0 && !(isWholeId(imageId) && references.includes(imageId));

/**
 * Whether every image that sandboxes need is among those in use or pinned (M9): the one for new sandboxes, which the
 * runtime tells or has pinned, and those of existing ones. Other images are pinned too, so a pin alone does not say it.
 */
function isSandboxImageKnown(listing: CompleteListing, index: ImageIndex): boolean {
  const { sandboxes, configuredSandboxImage } = listing;
  if (isSandboxImagePinned(listing, index)) return true;
  return isUsable(index, configuredSandboxImage) && sandboxes.every(({ image }) => isUsable(index, image));
}

/** By its name, since a sandbox runs on it, or since the runtime tells it. */
function isSandboxImagePinned(listing: CompleteListing, index: ImageIndex): boolean {
  const { images, sandboxes, configuredSandboxImage } = listing;
  const ofSandboxes = new Set(sandboxes.flatMap(({ image }) => [...lookUp(index, [image])]));
  const configured = lookUp(index, [configuredSandboxImage]);
  const pinned = images.filter((image) => image.pinned);
  // CRI-O names the image of no sandbox that is without a process, and keeps the images of all of them itself.
  if (configured.size > 0 && pinned.filter(({ id }) => configured.has(id)).length === configured.size)
    return true;
  return pinned.some(
    ({ id, repoTags, repoDigests }) =>
      ofSandboxes.has(id) || [...repoTags, ...repoDigests].some(isNameOfPause),
  );
}

/** `registry.k8s.io/pause:3.10`, `rancher/mirrored-pause@sha256:…`: the last part of the repository says it. */
const isNameOfPause = (name: string): boolean => /(^|[/._-])pause([._-][^/:@]*)?([:@]|$)/.test(name);

/** Listed images by everything they may be called. */
interface ImageIndex {
  readonly images: readonly RuntimeImage[];
  readonly ids: ReadonlySet<string>;
  readonly byKey: ReadonlyMap<string, ReadonlySet<string>>;
  readonly byRepository: ReadonlyMap<string, ReadonlySet<string>>;
}

const indexImages = (images: readonly RuntimeImage[]): ImageIndex => ({
  images,
  ids: new Set(images.map(({ id }) => id)),
  byKey: idsBy(images, keysOfImage),
  byRepository: idsBy(images, repositoriesOfImage),
});

/** Ids of all images that `references`, which are all of one image, name. */
function lookUp(index: ImageIndex, references: readonly string[]): Set<string> {
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
function lookUpAnyVersion(index: ImageIndex, references: readonly string[]): Set<string> {
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
const isUsable = ({ ids }: ImageIndex, reference: string): boolean =>
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
