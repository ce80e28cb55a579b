import { withoutDigest } from '../../schemas/policy/image-pattern.ts';
import { memoize } from '../process/memoize.ts';
import type { RuntimeImage } from './port.ts';

const HEX_ID = /^[0-9a-f]{64}$/;
const SHORT_ID = /^[0-9a-f]{7,63}$/;
const DIGEST = /^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[0-9a-fA-F]{32,}$/;
const NAME =
  /^(?:[a-z0-9][a-z0-9._-]*|\[[0-9a-f:]+\])(?::[0-9]+)?(?:\/[a-z0-9._-]+)*(?::[A-Za-z0-9_][A-Za-z0-9_.-]*)?$/i;

/** What an image reference may mean. A text can be several things at once: `app:<40 hex digits>` is digest and name. */
export interface ImageReference {
  /** `sha256:<hex>`; ids look the same. */
  readonly digests: readonly string[];
  /** The beginning of an id, as tools abbreviate it. */
  readonly abbreviation: string | undefined;
  /** Full names, tag included: `nginx` means `docker.io/library/nginx:latest`. */
  readonly names: readonly string[];
}

/** `undefined` when the text says nothing that we understand, which is not the same as "no image". */
export const parseReference = memoize((text: string): ImageReference | undefined => {
  const bare = text.trim().replace(/^[a-z-]+:\/\//, '');
  const [name = '', ...digests] = bare.split('@');
  const reference: ImageReference = {
    digests: [name, ...digests].flatMap(digestsOf),
    abbreviation: SHORT_ID.test(withoutAlgorithm(bare)) ? withoutAlgorithm(bare) : undefined,
    names: namesOf(name),
  };
  return says(reference) ? reference : undefined;
});

const says = ({ digests, abbreviation, names }: ImageReference): boolean =>
  digests.length > 0 || abbreviation !== undefined || names.length > 0;

type NamedImage = Pick<RuntimeImage, 'id' | 'repoTags' | 'repoDigests'>;

/** Every id, digest and name under which a listed image may be meant. */
export function keysOfImage({ id, repoTags, repoDigests }: NamedImage): string[] {
  return [...keysOfId(id), ...repoDigests.flatMap(digestsInName), ...repoTags.flatMap(endingsOfName)];
}

const keysOfId = memoize((id: string): readonly string[] => [id, ...digestsOf(id)]);
const digestsInName = memoize((name: string): readonly string[] =>
  digestsOf(name.slice(name.lastIndexOf('@') + 1)),
);
const endingsOfName = memoize((name: string): readonly string[] => namesOf(name).flatMap(endings));

/** Every repository that a listed image may be a version of. */
export function repositoriesOfImage({ repoTags, repoDigests }: NamedImage): string[] {
  return [...repoTags, ...repoDigests].flatMap(repositoriesOfName);
}

const repositoriesOfName = memoize((name: string): readonly string[] =>
  namesOf(withoutDigest(name)).map(repositoryOf).flatMap(endings),
);

export const repositoryOf = (name: string): string => name.slice(0, name.lastIndexOf(':'));

export const isAbbreviationOf = (abbreviation: string, { id }: Pick<RuntimeImage, 'id'>): boolean =>
  withoutAlgorithm(id).startsWith(abbreviation);

/** An image id as runtimes make them: a digest, or its 64 hexadecimal digits. */
export const isWholeId = (text: string): boolean => digestsOf(text).length > 0;

const withoutAlgorithm = (id: string): string => id.replace(/^sha256:/, '');

function digestsOf(text: string): string[] {
  if (HEX_ID.test(text)) return [`sha256:${text}`];
  return DIGEST.test(text) ? [text] : [];
}

function namesOf(text: string): string[] {
  if (!NAME.test(text)) return [];
  const tagged = text.lastIndexOf(':') > text.lastIndexOf('/') ? text : `${text}:latest`;
  const [registry = '', ...path] = tagged.split('/');
  if (path.length === 0) return [`docker.io/library/${tagged}`, tagged];
  if (!isRegistry(registry)) return [`docker.io/${tagged}`, tagged];
  return [dockerHubInFull(tagged)];
}

const isRegistry = (part: string): boolean => /[.:]/.test(part) || part === 'localhost';

const dockerHubInFull = (name: string): string =>
  name
    .replace(/^(index|registry-1)\.docker\.io\//, 'docker.io/')
    .replace(/^docker\.io\/([^/]+)$/, 'docker.io/library/$1');

/** A name without registry is looked up in registries that only the runtime knows, so each ending may be meant. */
function endings(name: string): string[] {
  const parts = name.split('/');
  return parts.map((_, position) => parts.slice(position).join('/'));
}
