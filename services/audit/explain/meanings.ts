import type { CompleteInventory, InventoryImage } from '../../../schemas/inventory.ts';
import type { ExplainedKind } from '../../../schemas/timeline.ts';
import { keysOfImage, repositoriesOfImage } from '../../shared/cri/image-names.ts';
import type { AskedName } from './asked-name.ts';
import type { PodNames, SeenObject } from './seen-objects.ts';

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
  const imagesMeant = imagesOf(inventory, asked);
  const single = objects.flatMap(({ object: { kind, id, name } }): Meaning[] => {
    if (kind === 'node' || kind === 'pod' || !allows(asked, kind)) return [];
    const isMeant = kind === 'image' ? imagesMeant.has(id) : isCalled({ kind, id, name }, asked);
    return isMeant ? [{ kind, id }] : [];
  });
  return [...single, ...podsOf(objects, asked, podNames)];
}

const allows = ({ kind: asked }: AskedName, kind: ExplainedKind): boolean => asked === null || asked === kind;

/** Whether the name is the id of an object, or its beginning. */
export const meansById = (asked: AskedName, { kind, id }: Pick<Meaning, 'kind' | 'id'>): boolean =>
  allows(asked, kind) && (id === asked.text || beginsSo(id, asked));

const beginsSo = (id: string, { idPrefix }: AskedName): boolean =>
  idPrefix !== null && id.replace(/^sha256:/, '').startsWith(idPrefix);

function imagesOf({ images }: CompleteInventory, asked: AskedName): ReadonlySet<string> {
  if (!allows(asked, 'image')) return new Set();
  const terms = new Set(asked.imageTerms);
  const meant = images.filter(
    (image) => couldBe(image, asked) && (beginsSo(image.id, asked) || isNamed(image, terms)),
  );
  return new Set(meant.map(({ id }) => id));
}

/** What every name of it would have in it, before all its names are made out. */
const couldBe = ({ id, repoTags, repoDigests }: InventoryImage, { needles }: AskedName): boolean =>
  [id, ...repoTags, ...repoDigests].some((name) => needles.some((needle) => name.includes(needle)));

const isNamed = (image: InventoryImage, terms: ReadonlySet<string>): boolean =>
  [...image.repoTags, ...image.repoDigests, ...keysOfImage(image), ...repositoriesOfImage(image)].some(
    (name) => terms.has(name),
  );

/** A sandbox has the name of its pod, which is the pod's unless the attempt or the kind says otherwise. */
function isCalled({ kind, id, name }: Meaning & { readonly name: string }, asked: AskedName): boolean {
  const { kind: askedKind, text } = asked;
  if (name === text || meansById(asked, { kind, id })) return true;
  if (kind === 'container') return endingsOf(name).some((ending) => isOfAttempt(ending, text));
  if (kind !== 'sandbox') return false;
  const isAsked = askedKind === 'sandbox' || text.includes('#');
  return isAsked && endingsOf(name).some((ending) => isOfAttempt(ending, text));
}

/** `shop/web-1/app#0` is also `web-1/app#0` and `app#0`. */
function endingsOf(name: string): string[] {
  const parts = name.split('/');
  return parts.map((_, position) => parts.slice(position).join('/'));
}

const isOfAttempt = (name: string, text: string): boolean =>
  name === text || name.replace(/#\d+$/, '') === text;

function podsOf(objects: readonly SeenObject[], asked: AskedName, podNames: PodNames): Meaning[] {
  if (!allows(asked, 'pod')) return [];
  const uids = new Set(objects.flatMap(({ podUid }) => (podUid === null || podUid === '' ? [] : [podUid])));
  return [...uids].filter((uid) => isPod(uid, podNames.get(uid), asked)).map((id) => ({ kind: 'pod', id }));
}

function isPod(uid: string, name: string | undefined, asked: AskedName): boolean {
  if (uid === asked.text || beginsSo(uid, asked)) return true;
  return name !== undefined && endingsOf(name).includes(asked.text);
}
