import { z } from 'zod';
import { GlobList, GlobMatching, ImageGlobs } from './glob.ts';
import { MAX_DECISION_STEPS, Steps } from './steps.ts';

/** @limit Image digests that a policy keeps. */
export const MAX_KEPT_DIGESTS = 10_000;
/** @limit Entries of any other list or map of a policy. */
export const MAX_LIST_ENTRIES = 1_000;
/** Of an entry that is compared as a whole, and of the name of a label. */
export const MAX_ENTRY_LENGTH = 512;
export const MAX_LABEL_VALUE_LENGTH = 4_096;

/** A recorded schema takes longer ones, so that it stays compatible. */
const atMost = (most: number) =>
  z.string().refine(({ length }) => length <= most, {
    error: `must have at most ${most} characters`,
  });

/** An entry that is compared as a whole. */
export const Entry = atMost(MAX_ENTRY_LENGTH).min(1);
/** Labels that are asked for. */
export const WantedLabels = z
  .record(Entry, atMost(MAX_LABEL_VALUE_LENGTH))
  .refine((labels) => hasFewEntries(labels));

export const hasFewEntries = (map: Readonly<Record<string, string>>): boolean =>
  Object.keys(map).length <= MAX_LIST_ENTRIES;

/**
 * Images that are never removed. An image is kept when any pattern matches any of its names (`repo:tag`, `repo`,
 * `repo@digest`), any digest equals the digest part of a name or the image id, or any label is equal (M11).
 */
export const KeepRules = z.strictObject({
  /** Globs as in `registry.example/base/*`; `*` does not cross a slash, `**` does. */
  patterns: ImageGlobs,
  /** Whole, with or without `sha256:`: some runtimes write ids without it. */
  digests: z
    .array(
      z.string().regex(/^(sha256:)?[0-9a-f]{64}$/, {
        error: 'must be 64 hexadecimal digits, with or without sha256:',
      }),
    )
    .max(MAX_KEPT_DIGESTS),
  labels: WantedLabels,
});
export type KeepRules = z.infer<typeof KeepRules>;

/** What a command says of images that stay: the node can tell by their names alone. */
export const NamedKeep = KeepRules.extend({
  /** Images whose names say that they cannot be pulled again (`unpullableBecause`). */
  unpullable: z.boolean(),
});
export type NamedKeep = z.infer<typeof NamedKeep>;

/** What of an image the keep rules look at. */
export interface NamedImage {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  /** `null` when they are not known: then a rule by label keeps the image. */
  readonly labels: Readonly<Record<string, string>> | null;
}

/** Keep rules that are held against the images of one node, each of its names once. */
export interface KeepMatcher {
  /** The rule that keeps the image, as written, or `undefined`. */
  readonly keptBy: (image: NamedImage) => string | undefined;
  /** The rules that keep none of these images, as written: they may be misspelt. */
  readonly withoutMatch: (images: readonly NamedImage[]) => readonly string[];
}

/** Throws `TooCostly` where the names of the images take more steps than there are. */
export function keepMatcher(
  { patterns, digests, labels }: KeepRules,
  steps = new Steps(MAX_DECISION_STEPS),
): KeepMatcher {
  const names = new GlobMatching(GlobList.of(patterns), steps);
  const written = new Map(digests.map((digest) => [withoutAlgorithm(digest), digest]));
  const wanted = Object.entries(labels);
  /** Of an image whose labels are not known any may be among them. */
  const hasLabel = (image: NamedImage, [key, value]: readonly [string, string]): boolean => {
    if (image.labels === null) return true;
    steps.take(STEPS_OF_LABEL);
    return Object.hasOwn(image.labels, key) && image.labels[key] === value;
  };
  // Most policies have neither patterns nor digests, and making the names costs more than the rest of the rules.
  const made = new Map<NamedImage, readonly string[]>();
  const namesToAsk = (image: NamedImage): readonly string[] => {
    if (patterns.length === 0) return [];
    const before = made.get(image);
    if (before !== undefined) return before;
    const found = namesOf(image, steps);
    made.set(image, found);
    return found;
  };
  const digestsToAsk = (image: NamedImage): readonly string[] => {
    if (digests.length === 0) return [];
    steps.take(STEPS_OF_NAME * (1 + image.repoDigests.length));
    return digestsOf(image);
  };
  return {
    keptBy: (image) => {
      const pattern = least(namesToAsk(image).flatMap((name) => names.first(name) ?? []));
      if (pattern !== undefined) return patterns[pattern];
      const digest = digestsToAsk(image).find((one) => written.has(one));
      if (digest !== undefined) return written.get(digest);
      return wanted.find((label) => hasLabel(image, label))?.join('=');
    },
    withoutMatch: (images) => {
      const met = new Set(images.flatMap(namesToAsk).flatMap((name) => names.all(name)));
      const matched = new Set([...met].map((place) => patterns[place]));
      const listed = new Set(images.flatMap(digestsToAsk));
      steps.take(
        STEPS_OF_RULE * (patterns.length + digests.length + wanted.length) +
          wanted.reduce((sum, [key, value]) => sum + key.length + value.length, 0),
      );
      return [
        ...patterns.filter((pattern) => !matched.has(pattern)),
        ...digests.filter((digest) => !listed.has(withoutAlgorithm(digest))),
        ...wanted
          .filter((label) => !images.some((image) => hasLabel(image, label)))
          .map((label) => label.join('=')),
      ];
    },
  };
}

const least = (places: readonly number[]): number | undefined =>
  places.reduce<number | undefined>(
    (first, place) => (first === undefined ? place : Math.min(first, place)),
    undefined,
  );

/**
 * No registry takes a longer name: 255 characters of repository, 128 of tag, and a digest.
 * @limit Characters of an image name. An image with a longer name is kept (P9).
 */
export const MAX_IMAGE_NAME_LENGTH = 512;
/**
 * Hardly any image has a tenth of it.
 * @limit Names of one image. An image with more is kept (P9).
 */
export const MAX_IMAGE_NAMES = 1_000;

/** Whether no registry and no runtime gives an image such names: then they are not looked at, and it is kept (P9). */
export const hasUnreadableNames = ({
  repoTags,
  repoDigests,
}: Pick<NamedImage, 'repoTags' | 'repoDigests'>): boolean =>
  repoTags.length + repoDigests.length > MAX_IMAGE_NAMES ||
  repoTags.some(isTooLong) ||
  repoDigests.some(isTooLong);

const isTooLong = (name: string): boolean => name.length > MAX_IMAGE_NAME_LENGTH;

/**
 * Why an image cannot be pulled again, or `undefined` when it can: only a digest under the name of a registry says
 * where to. A registry's name holds a dot or a port; `localhost/` is what builders call images of their own (M11).
 */
export function unpullableBecause({ repoDigests }: Pick<NamedImage, 'repoDigests'>): string | undefined {
  if (repoDigests.length === 0) return 'it has no repository digest';
  if (repoDigests.some(namesRegistry)) return undefined;
  return repoDigests.every(isPlaceholder)
    ? 'its repository digest is a placeholder of the runtime'
    : 'its name has no registry';
}

/** `<none>@sha256:…` or `<none>@<none>`: the runtime knows no repository, or no digest, though a tag may name a registry. */
const isPlaceholder = (name: string): boolean => name.includes('<none>');

/** Asked of every image of every inventory; a regular expression takes three times as long. */
function namesRegistry(name: string): boolean {
  let isMarked = false;
  for (let at = 0; at < name.length; at += 1) {
    const character = name[at];
    if (character === '/') return isMarked;
    if (character === '@') return false;
    isMarked ||= character === '.' || character === ':';
  }
  return false;
}

/** The tags of an image by repository; a repository that it is only known in by digest has none. */
export function tagsByRepository({ repoTags, repoDigests }: NamedImage): Map<string, string[]> {
  const tags = new Map<string, string[]>(repoDigests.map((name) => [withoutDigest(name), []]));
  for (const name of repoTags) {
    const repository = withoutTag(name);
    const known = tags.get(repository);
    const tag = name.slice(repository.length + 1);
    if (known === undefined) tags.set(repository, [tag]);
    else known.push(tag);
  }
  return tags;
}

/** To look for a label, to take a name apart, or to say of a rule that nothing met it takes as long as so many comparisons of characters. */
const STEPS_OF_LABEL = 16;
const STEPS_OF_NAME = 40;
const STEPS_OF_RULE = 200;
/** So many characters of a name are hashed in one step. */
const CHARACTERS_A_STEP = 2;

function namesOf({ repoTags, repoDigests }: NamedImage, steps: Steps): string[] {
  const written = [...repoTags, ...repoDigests];
  steps.take(STEPS_OF_NAME * written.length);
  const repositories = new Set([...repoTags.map(withoutTag), ...repoDigests.map(withoutDigest)]);
  const forms = [...written, ...repositories].flatMap((name) => [name, ...shortForms(name)]);
  for (const { length } of forms) steps.take(STEPS_OF_NAME + Math.ceil(length / CHARACTERS_A_STEP));
  return forms;
}

export function withoutDigest(name: string): string {
  const at = name.indexOf('@');
  return at === -1 ? name : name.slice(0, at);
}

/** `docker.io/library/nginx:1` is what people write as `nginx:1`, and `docker.io/team/app:1` as `team/app:1`. */
function shortForms(name: string): string[] {
  const short = name.startsWith('docker.io/') ? name.slice('docker.io/'.length) : null;
  if (short === null) return [];
  return short.startsWith('library/') ? [short, short.slice('library/'.length)] : [short];
}

/** `registry:5000/app:1` becomes `registry:5000/app`: only what follows the last slash can hold a tag. */
function withoutTag(name: string): string {
  const colon = name.lastIndexOf(':');
  return colon > name.lastIndexOf('/') ? name.slice(0, colon) : name;
}

const digestsOf = ({ id, repoDigests }: NamedImage): string[] =>
  [id, ...repoDigests.map((name) => name.slice(name.lastIndexOf('@') + 1))].map(withoutAlgorithm);

const withoutAlgorithm = (digest: string): string =>
  digest.startsWith('sha256:') ? digest.slice('sha256:'.length) : digest;
