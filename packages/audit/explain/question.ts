import { nodeKey } from '../../../schemas/events/identity.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import type { NotFound } from '../../../schemas/reports/explanation.ts';
import { ExplainedKind } from '../../../schemas/reports/timeline.ts';
import { type PodNames, podNamesIn, type SeenObject } from '../../archive/inventory-objects.ts';
import { keysOfImage, parseReference, repositoriesOfImage, repositoryOf } from '../../cri/image-names.ts';
import type { RuntimeImage } from '../../cri/port.ts';
import { namesIn } from '../../decision/inventory-entries.ts';
import { FleetGcError } from '../../process/errors.ts';
import type { TimeRange } from '../../records/read-log.ts';
import { nearestNames } from '../../text/nearest-name.ts';

/** A name as somebody asked for it, and what it may mean. */
export interface AskedName {
  readonly asked: string;
  /** `null`: it may be of any kind. */
  readonly kind: ExplainedKind | null;
  readonly text: string;
  /** As an image reference: names and digests; without a tag also the repository, of which any version is meant. */
  readonly imageTerms: readonly string[];
  /** As the beginning of an id or UID; `null` when it cannot be one. */
  readonly idPrefix: string | null;
  /** One of these stands in every record that names what is meant, whatever else the record says. */
  readonly needles: readonly string[];
}

/** What people ask for by its name: the entries of log directories belong to their pods. */
export const IS_ASKED_BY_NAME: Readonly<Record<ExplainedKind, boolean>> = {
  container: true,
  sandbox: true,
  'pod-log-directory': false,
  'log-symlink': false,
  image: true,
  pod: true,
  node: true,
};

const ID_PREFIX = /^[0-9a-f][0-9a-f-]{5,}$/;

/** `pod/shop-7f` is a pod alone; without such a beginning a name may mean anything. Throws `USAGE`. */
export function askedName(asked: string): AskedName {
  const slash = asked.indexOf('/');
  const kind = ExplainedKind.safeParse(asked.slice(0, Math.max(0, slash))).data ?? null;
  const text = (kind === null ? asked : asked.slice(slash + 1)).trim();
  if (text === '') throw new FleetGcError('USAGE', `${asked} names nothing; write what is to be explained`);
  const bare = text.replace(/^sha256:/, '');
  return {
    asked,
    kind,
    text,
    imageTerms: kind === null || kind === 'image' ? imageTerms(text) : [],
    idPrefix: ID_PREFIX.test(bare) ? bare : null,
    needles: needlesOf(text),
  };
}

function imageTerms(text: string): string[] {
  const reference = parseReference(text);
  if (reference === undefined) return [text];
  const { names, digests } = reference;
  const anyVersion = isTagged(text) ? [] : names.map(repositoryOf);
  return [text, ...names, ...digests, ...anyVersion];
}

const isTagged = (text: string): boolean => /[:@]/.test(text.slice(text.lastIndexOf('/') + 1));

/** The last part of the path without tag and attempt, and a digest: JSON writes a slash in more than one way. */
function needlesOf(text: string): string[] {
  const [path = '', digest] = text.replace(/^sha256:/, '').split('@');
  const last = path.slice(path.lastIndexOf('/') + 1);
  return [last.replace(/[:#].*$/, ''), (digest ?? '').replace(/^sha256:/, '')].filter(
    (needle) => needle !== '',
  );
}

/** What is asked for, and where to look for it. */
export interface ExplainRequest {
  readonly name: string;
  /** `<node>` or `<cluster>/<node>`; `null`: any. */
  readonly node: string | null;
  readonly range: TimeRange;
  /** Of several things that the name means only those that were there in the end, if there are any. */
  readonly thereOnly: boolean;
}

export interface WatchedNode {
  readonly cluster: string;
  readonly node: string;
}

/** Of a key, `<cluster>/<node>`. */
export function nodeOfKey(key: string): WatchedNode {
  const [cluster = '', node = ''] = key.split('/');
  return { cluster, node };
}

export type NodeFilter = (node: WatchedNode) => boolean;

const MOST_NAMES = 5;

/** Whether the name itself is among the names, and what else may have been meant. */
export function namesLike(
  { text, imageTerms }: AskedName,
  names: ReadonlySet<string>,
): Pick<NotFound, 'knownOtherwise' | 'nearNames'> {
  const same = new Set([text, ...imageTerms]);
  const others = new Set([...names].filter((name) => !same.has(name)));
  return { knownOtherwise: others.size < names.size, nearNames: nearNames(text, others) };
}

/** Names that may have been meant: those of which the text is a part, then those that differ little. */
export function nearNames(text: string, names: ReadonlySet<string>): string[] {
  const containing = [...names]
    .filter((name) => name.includes(text))
    .toSorted((a, b) => a.length - b.length || compareText(a, b));
  return [...new Set([...containing.slice(0, MOST_NAMES), ...nearestNames(text, names, MOST_NAMES)])].slice(
    0,
    MOST_NAMES,
  );
}

/** What the objects of an inventory may be asked for by, in short and in full, of the kind that is asked for. */
export function askableNames(inventory: CompleteInventory, { kind }: AskedName): string[] {
  const names = namesIn(inventory);
  const objects = ObjectKind.options.map((one) => ({ one, names: names[one] }));
  return [...objects, { one: 'pod' as const, names: [...podNamesIn(inventory).values()] }]
    .filter(({ one }) => IS_ASKED_BY_NAME[one] && (kind === null || kind === one))
    .flatMap((named) => named.names)
    .flatMap((name) => [name, shortOf(name)]);
}

/** The last part of a path. */
export const shortOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1);

/** Something that a name means on a node: an object, or a pod with all that belongs to it. */
export interface Meaning {
  readonly kind: Exclude<ExplainedKind, 'node'>;
  readonly id: string;
}

/** What the name means among the objects of an inventory. */
export function meaningsIn(
  inventory: CompleteInventory,
  objects: readonly SeenObject[],
  { asked, podNames }: { readonly asked: AskedName; readonly podNames: PodNames },
): Meaning[] {
  const single = objects.flatMap(({ object: { kind, id, name }, position }): Meaning[] => {
    if (kind === 'node' || kind === 'pod') return [];
    const image = kind === 'image' ? inventory.images[position] : undefined;
    return meansListed(asked, { kind, id, name, ...image }) ? [{ kind, id }] : [];
  });
  return [...single, ...podsOf(objects, asked, podNames)];
}

/** An object as an inventory lists it, or a pod by the name that it has there. */
interface ListedObject extends Meaning {
  readonly name: string;
  /** Of images. */
  readonly repoTags?: readonly string[];
  readonly repoDigests?: readonly string[];
}

/** Whether the name means this. */
export function meansListed(asked: AskedName, listed: ListedObject): boolean {
  const { kind, id, name, repoTags = [], repoDigests = [] } = listed;
  if (!allows(asked, kind)) return false;
  if (kind === 'image') return isImageMeant({ id, repoTags, repoDigests }, asked);
  return kind === 'pod' ? isPod(id, name, asked) : isCalled(listed, asked);
}

const allows = ({ kind: asked }: AskedName, kind: ExplainedKind): boolean => asked === null || asked === kind;

/** Whether the name is the id of an object, or its beginning. */
export const meansById = (asked: AskedName, { kind, id }: Pick<Meaning, 'kind' | 'id'>): boolean =>
  allows(asked, kind) && (id === asked.text || beginsSo(id, asked));

const beginsSo = (id: string, { idPrefix }: AskedName): boolean =>
  idPrefix !== null && id.replace(/^sha256:/, '').startsWith(idPrefix);

type NamedImage = Pick<RuntimeImage, 'id' | 'repoTags' | 'repoDigests'>;

const isImageMeant = (image: NamedImage, asked: AskedName): boolean =>
  couldBe(image, asked) && (beginsSo(image.id, asked) || isNamed(image, asked));

/** What every name of it would have in it, before all its names are made out. */
const couldBe = ({ id, repoTags, repoDigests }: NamedImage, { needles }: AskedName): boolean =>
  [id, ...repoTags, ...repoDigests].some((name) => needles.some((needle) => name.includes(needle)));

const isNamed = (image: NamedImage, { imageTerms }: AskedName): boolean =>
  [...image.repoTags, ...image.repoDigests, ...keysOfImage(image), ...repositoriesOfImage(image)].some(
    (name) => imageTerms.includes(name),
  );

function isCalled({ kind, id, name }: Meaning & { readonly name: string }, asked: AskedName): boolean {
  const { kind: askedKind, text } = asked;
  if (name === text || meansById(asked, { kind, id })) return true;
  const isEnding = (): boolean => endingsOf(name).some((ending) => isOfAttempt(ending, text));
  switch (kind) {
    case 'container':
      return isEnding();
    case 'sandbox':
      // It has the name of its pod, which is the pod's unless the attempt or the kind says otherwise.
      return (askedKind === 'sandbox' || text.includes('#')) && isEnding();
    case 'pod-log-directory':
    case 'log-symlink':
    case 'image':
    case 'pod':
      return false;
  }
}

/** `shop/web-1/app#0` is also `web-1/app#0` and `app#0`. */
function endingsOf(name: string): string[] {
  const parts = name.split('/');
  return parts.map((_, position) => parts.slice(position).join('/'));
}

const isOfAttempt = (name: string, text: string): boolean =>
  name === text || name.replace(/#\d+$/, '') === text;

function podsOf(objects: readonly SeenObject[], asked: AskedName, podNames: PodNames): Meaning[] {
  const uids = new Set(objects.flatMap(({ podUid }) => (podUid === null || podUid === '' ? [] : [podUid])));
  return [...uids]
    .map((id) => ({ kind: 'pod', id, name: podNames.get(id) ?? '' }) as const)
    .filter((pod) => meansListed(asked, pod))
    .map(({ kind, id }) => ({ kind, id }));
}

function isPod(uid: string, name: string, asked: AskedName): boolean {
  if (uid === asked.text || beginsSo(uid, asked)) return true;
  return endingsOf(name).includes(asked.text);
}

/** Whether the name means this node. */
export const meansNode = ({ kind, text }: AskedName, named: WatchedNode): boolean =>
  (kind === null || kind === 'node') && (text === named.node || text === nodeKey(named));
