import { nodeKey } from '../../../schemas/events/identity.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { ExplainedKind } from '../../../schemas/reports/timeline.ts';
import type { PodNames, SeenObject } from '../../archive/inventory-objects.ts';
import { keysOfImage, repositoriesOfImage } from '../../cri/image-names.ts';
import type { RuntimeImage } from '../../cri/port.ts';
import type { AskedName, WatchedNode } from './question.ts';

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
export interface ListedObject extends Meaning {
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
