import { between, evenChoice, type Random } from '../../sim/random.ts';
import { FOREIGN_FINALIZER, type Place, type PlayedObject, type PlayedReference } from './history.ts';
import { apiVersionOf, FAILING, type KindId, kindOf, OWNED_KIND_IDS, UNKNOWN } from './kinds.ts';

export type Weighted<T> = readonly (readonly [weight: number, item: T])[];

/** One of the items, each as often as its weight says. */
export function weighted<T>(random: Random, items: Weighted<T>): T {
  let left = random() * items.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, item] of items) {
    left -= weight;
    if (left < 0) return item;
  }
  const last = items.at(-1);
  if (last === undefined) throw new RangeError('there is nothing to choose from');
  return last[1];
}

const CLUSTER_SCOPED: ReadonlySet<KindId> = new Set(OWNED_KIND_IDS.filter((id) => !kindOf(id).namespaced));
/** Cheap kinds come more often. */
const KIND_WEIGHTS: Weighted<KindId> = OWNED_KIND_IDS.map((id) => [id === 'configMap' ? 4 : 1, id]);

const FINALIZERS: Weighted<readonly string[]> = [
  [80, []],
  [14, [FOREIGN_FINALIZER]],
  [2, ['orphan']],
  [2, ['foregroundDeletion']],
  [1, ['orphan', FOREIGN_FINALIZER]],
  [1, [FOREIGN_FINALIZER, 'foregroundDeletion']],
];

const OWNERS: Weighted<number> = [
  [14, 0],
  [58, 1],
  [20, 2],
  [6, 3],
  [2, 5],
];

type Lie = 'none' | 'uid' | 'name' | 'kind' | 'elsewhere' | 'scope' | 'unknown' | 'failing';
const LIES: Weighted<Lie> = [
  [880, 'none'],
  [30, 'uid'],
  [20, 'name'],
  [20, 'kind'],
  [25, 'elsewhere'],
  [15, 'scope'],
  [2, 'unknown'],
  [2, 'failing'],
];

/** So near lie most owners: graphs get deep. */
const NEAR = 12;
const TRIES = 6;

/** Objects whose references name earlier ones alone. */
export function drawObject(random: Random, id: number, earlier: readonly PlayedObject[]): PlayedObject {
  const kind = weighted(random, KIND_WEIGHTS);
  const place: Place = random() < 0.85 ? 'home' : 'away';
  const bare = { id, kind, place, finalizers: weighted(random, FINALIZERS), references: [] };
  const references: PlayedReference[] = [];
  const count = earlier.length === 0 ? 0 : weighted(random, OWNERS);
  for (let each = 0; each < count; each++) {
    const lie = weighted(random, LIES);
    const reference = drawReference(random, bare, earlier, lie);
    if (reference === null) continue;
    if (orphans(earlier, reference)) {
      // Whether a wrong reference is found out before its owner orphans would be a matter of chance.
      if (lie !== 'none') continue;
      return { ...bare, references: [alone(reference)] };
    }
    references.push(reference);
  }
  return { ...bare, references: withOneController(references) };
}

/** Whether its owner goes so that its dependents stay: of them none has another owner, or who comes first would matter. */
const orphans = (earlier: readonly PlayedObject[], { uidOf }: PlayedReference): boolean =>
  uidOf !== null && earlier[uidOf]?.finalizers.includes('orphan') === true;

const alone = (reference: PlayedReference): PlayedReference => withOneController([reference])[0] ?? reference;

/** More than one is refused. */
function withOneController(references: readonly PlayedReference[]): readonly PlayedReference[] {
  const first = references.findIndex(({ controller }) => controller === true);
  return references.map((reference, at) =>
    reference.controller === true && at !== first ? { ...reference, controller: false } : reference,
  );
}

export function drawReference(
  random: Random,
  dependent: Pick<PlayedObject, 'kind' | 'place'>,
  earlier: readonly PlayedObject[],
  lie: Lie,
): PlayedReference | null {
  const owner = ownerFor(random, dependent, earlier, lie);
  if (owner === null) return null;
  const { group, kind, versions } = kindOf(owner.kind);
  const honest = {
    apiVersion: apiVersionOf(group, evenChoice(random, versions) ?? 'v1'),
    kind,
    nameOf: owner.id,
    uidOf: owner.id,
    ...flags(random),
  };
  switch (lie) {
    case 'uid':
      return { ...honest, uidOf: null };
    case 'name':
      return { ...honest, nameOf: null };
    case 'kind':
      return { ...honest, ...otherKind(random, dependent, owner) };
    case 'unknown':
      return { ...honest, apiVersion: `${UNKNOWN}/v1`, kind: 'Ghost' };
    case 'failing':
      return { ...honest, apiVersion: `${FAILING}/v1`, kind: 'Ghost' };
    default:
      return honest;
  }
}

/** An earlier object that such a reference can be to. */
function ownerFor(
  random: Random,
  dependent: Pick<PlayedObject, 'kind' | 'place'>,
  earlier: readonly PlayedObject[],
  lie: Lie,
): PlayedObject | null {
  for (let tries = 0; tries < TRIES; tries++) {
    const isNear = random() < 0.5;
    const least = isNear ? Math.max(0, earlier.length - NEAR) : 0;
    const owner = earlier[between(random, least, earlier.length - 1)];
    if (owner !== undefined && isFit(dependent, owner, lie)) return owner;
  }
  return null;
}

function isFit(dependent: Pick<PlayedObject, 'kind' | 'place'>, owner: PlayedObject, lie: Lie): boolean {
  const ownerIsWide = CLUSTER_SCOPED.has(owner.kind);
  const dependentIsWide = CLUSTER_SCOPED.has(dependent.kind);
  if (lie === 'scope') return dependentIsWide && !ownerIsWide;
  if (lie === 'elsewhere') return !dependentIsWide && !ownerIsWide && owner.place !== dependent.place;
  return ownerIsWide || (!dependentIsWide && owner.place === dependent.place);
}

/** Another kind of the same scope, so that it is the name that leads nowhere. */
function otherKind(
  random: Random,
  dependent: Pick<PlayedObject, 'kind'>,
  owner: PlayedObject,
): Pick<PlayedReference, 'apiVersion' | 'kind'> {
  const isWide = CLUSTER_SCOPED.has(dependent.kind);
  const fits = OWNED_KIND_IDS.filter((id) => id !== owner.kind && (!isWide || CLUSTER_SCOPED.has(id)));
  const { group, version, kind } = kindOf(evenChoice(random, fits) ?? 'gadget');
  return { apiVersion: apiVersionOf(group, version), kind };
}

const FLAG: Weighted<{ readonly blockOwnerDeletion?: boolean }> = [
  [50, { blockOwnerDeletion: true }],
  [25, { blockOwnerDeletion: false }],
  [25, {}],
];
const CONTROLLER: Weighted<{ readonly controller?: boolean }> = [
  [30, { controller: true }],
  [10, { controller: false }],
  [60, {}],
];
const flags = (random: Random): Pick<PlayedReference, 'controller' | 'blockOwnerDeletion'> => ({
  ...weighted(random, CONTROLLER),
  ...weighted(random, FLAG),
});
