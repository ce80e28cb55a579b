import { z } from 'zod';
import { Globs, globMatcher } from './glob.ts';

/**
 * Images that are never removed. An image is kept when any pattern matches any of its names (`repo:tag`, `repo`,
 * `repo@digest`), any digest equals the digest part of a name or the image id, or any label is equal (M11).
 */
export const KeepRules = z.strictObject({
  /** Globs as in `registry.example/base/*`; `*` does not cross a slash, `**` does. */
  patterns: Globs,
  /** Whole, with or without `sha256:`: some runtimes write ids without it. */
  digests: z.array(
    z.string().regex(/^(sha256:)?[0-9a-f]{64}$/, {
      error: 'must be 64 hexadecimal digits, with or without sha256:',
    }),
  ),
  labels: z.record(z.string().min(1), z.string()),
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

/** Compiles the rules once; the returned function gives the rule that keeps the image, or `undefined`. */
export function keepMatcher(rules: KeepRules): (image: NamedImage) => string | undefined {
  const patterns = rules.patterns.map((pattern) => ({ pattern, matches: globMatcher(pattern) }));
  const digests = new Map(rules.digests.map((digest) => [withoutAlgorithm(digest), digest]));
  const labels = Object.entries(rules.labels);
  return (image) => {
    // Most policies have neither patterns nor digests, and making the names costs more than the rest of the rules.
    const names = patterns.length === 0 ? [] : namesOf(image);
    const imageDigests = digests.size === 0 ? [] : digestsOf(image);
    return (
      patterns.find(({ matches }) => names.some((name) => matches(name)))?.pattern ??
      imageDigests.map((digest) => digests.get(digest)).find((digest) => digest !== undefined) ??
      labelText(labels.find(([key, value]) => image.labels === null || image.labels[key] === value))
    );
  };
}

/** The rules that keep none of these images, as written: they may be misspelt. */
export function rulesWithoutMatch(
  { patterns, digests, labels }: KeepRules,
  images: readonly NamedImage[],
): string[] {
  const names = patterns.length === 0 ? [] : [...new Set(images.flatMap(namesOf))];
  const listedDigests = new Set(digests.length === 0 ? [] : images.flatMap(digestsOf));
  return [
    ...patterns.filter((pattern) => {
      const matches = globMatcher(pattern);
      return !names.some((name) => matches(name));
    }),
    ...digests.filter((digest) => !listedDigests.has(withoutAlgorithm(digest))),
    ...Object.entries(labels)
      .filter(([key, value]) => !images.some((image) => image.labels === null || image.labels[key] === value))
      .map((label) => label.join('=')),
  ];
}

/**
 * Why an image cannot be pulled again, or `undefined` when it can: only a digest under the name of a registry says
 * where to. A registry's name holds a dot or a port; `localhost/` is what builders call images of their own (M11).
 */
export function unpullableBecause({ repoDigests }: Pick<NamedImage, 'repoDigests'>): string | undefined {
  if (repoDigests.length === 0) return 'it has no repository digest';
  return repoDigests.some(namesRegistry) ? undefined : 'its name has no registry';
}

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
    tags.set(repository, [...(tags.get(repository) ?? []), name.slice(repository.length + 1)]);
  }
  return tags;
}

function namesOf({ repoTags, repoDigests }: NamedImage): string[] {
  const repositories = [...repoTags.map(withoutTag), ...repoDigests.map(withoutDigest)];
  return [...repoTags, ...repoDigests, ...repositories].flatMap((name) => [name, ...shortForms(name)]);
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

const labelText = (label: readonly [string, string] | undefined): string | undefined => label?.join('=');
