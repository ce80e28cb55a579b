import picomatch from 'picomatch';
import { z } from 'zod';

/**
 * Images that are never removed. An image is kept when any pattern matches any of its names (`repo:tag`, `repo`,
 * `repo@digest`), any digest equals the digest part of a name or the image id, or any label is equal (M11).
 */
export const KeepRules = z.strictObject({
  /** Globs as in `registry.example/base/*`; `*` does not cross a slash, `**` does. */
  patterns: z.array(z.string().min(1)),
  /** `sha256:…`, whole. */
  digests: z.array(
    z.string().regex(/^sha256:[0-9a-f]{64}$/, { error: 'must be sha256: and 64 hexadecimal digits' }),
  ),
  labels: z.record(z.string().min(1), z.string()),
});
export type KeepRules = z.infer<typeof KeepRules>;

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
  const patterns = rules.patterns.map((pattern) => ({ pattern, matches: picomatch(pattern, { dot: true }) }));
  const digests = new Set(rules.digests);
  const labels = Object.entries(rules.labels);
  return (image) => {
    // Most policies have neither patterns nor digests, and making the names costs more than the rest of the rules.
    const names = patterns.length === 0 ? [] : namesOf(image);
    const imageDigests = digests.size === 0 ? [] : digestsOf(image);
    return (
      patterns.find(({ matches }) => names.some((name) => matches(name)))?.pattern ??
      imageDigests.find((digest) => digests.has(digest)) ??
      labelText(labels.find(([key, value]) => image.labels === null || image.labels[key] === value))
    );
  };
}

function namesOf({ repoTags, repoDigests }: NamedImage): string[] {
  const repositories = [...repoTags.map(withoutTag), ...repoDigests.map((name) => name.replace(/@.*$/, ''))];
  return [...repoTags, ...repoDigests, ...repositories].flatMap((name) => [name, ...shortForms(name)]);
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

const digestsOf = ({ id, repoDigests }: NamedImage): string[] => [
  id,
  ...repoDigests.map((name) => name.slice(name.lastIndexOf('@') + 1)),
];

const labelText = (label: readonly [string, string] | undefined): string | undefined => label?.join('=');
