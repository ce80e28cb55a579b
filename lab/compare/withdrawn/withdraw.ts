import { collectionPath } from '../../../packages/kube-api/resources.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { between, evenChoice, seededRandom } from '../../sim/random.ts';
import { DEFINITIONS, definitionOf } from '../arena.ts';
import { apiVersionOf, KINDS, type PlayedKind } from '../history/kinds.ts';
import type { Api, Reference } from '../play/api.ts';

const DEFINITION: PlayedKind = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  resource: 'customresourcedefinitions',
  namespaced: false,
  versions: ['v1'],
  orphansByDefault: false,
  body: {},
};
const DEPENDENTS = [KINDS.configMap, KINDS.secret] as const;
const SERVED_MS = 60_000;
/** A collector looks for new kinds now and then. */
const SEEN_MS = 120_000;

interface OwnerKind {
  readonly kind: PlayedKind;
  readonly owners: readonly string[];
  /** Its definition is deleted, with all its objects. */
  readonly isWithdrawn: boolean;
}

interface Dependent {
  readonly kind: PlayedKind;
  readonly name: string;
  /** As `kind/owner`. */
  readonly owners: readonly string[];
  /** It names a ConfigMap too, which stays. */
  readonly hasLivingOwner: boolean;
}

/** Kinds of a group of its own, their objects, and what these own; then some of the definitions are deleted. */
export interface Withdrawal {
  readonly namespace: string;
  readonly kinds: readonly OwnerKind[];
  readonly dependents: readonly Dependent[];
}

/** What follows from the seed is the same on each side. */
export function drawWithdrawal(seed: number, side: string): Withdrawal {
  const random = seededRandom(seed);
  const group = `w${seed}.${side}.compare.fleetgc.io`;
  const kinds = Array.from(
    { length: between(random, 1, 3) },
    (_, index): OwnerKind => ({
      kind: {
        ...DEFINITION,
        group,
        kind: `Gadget${index}`,
        resource: `gadget${index}s`,
        namespaced: true,
      },
      owners: Array.from({ length: between(random, 1, 3) }, (_, owner) => `owner-${owner}`),
      isWithdrawn: index === 0 || random() < 0.5,
    }),
  );
  const all = kinds.flatMap(({ kind, owners }) => owners.map((owner) => `${kind.kind}/${owner}`));
  const dependents = Array.from(
    { length: between(random, 4, 12) },
    (_, index): Dependent => ({
      kind: evenChoice(random, DEPENDENTS) ?? KINDS.configMap,
      name: `dependent-${index}`,
      owners: [
        ...new Set(Array.from({ length: between(random, 1, 2) }, () => evenChoice(random, all) ?? '')),
      ],
      hasLivingOwner: random() < 0.2,
    }),
  );
  return { namespace: `withdrawn-${seed}-${side}`, kinds, dependents };
}

/** Plays it, once the collector that runs has dealt with an owner of each kind. */
export async function withdraw(api: Api, { namespace, kinds, dependents }: Withdrawal): Promise<void> {
  await api.createNamespace(namespace);
  for (const { kind } of kinds) await api.post(DEFINITIONS, definitionOf(kind));
  await waitUntil('the new kinds to be served', SERVED_MS, async () => {
    const answers = await Promise.all(
      kinds.map(({ kind }) => api.ask({ method: 'GET', path: collectionPath(kind, {}) })),
    );
    return answers.every(({ status }) => status === 200);
  });
  for (const { kind } of kinds) await isSeen(api, kind, namespace);
  const uids = new Map<string, string>();
  for (const { kind, owners } of kinds)
    for (const name of owners)
      uids.set(`${kind.kind}/${name}`, await api.create(kind, { namespace, name }, {}));
  const living = await api.create(KINDS.configMap, { namespace, name: 'living' }, {});
  for (const { kind, name, owners, hasLivingOwner } of dependents) {
    const references = owners.map((owner) => referenceTo(kinds, owner, uids.get(owner) ?? ''));
    const more: Reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'living', uid: living };
    const ownerReferences = hasLivingOwner ? [...references, more] : references;
    await api.create(kind, { namespace, name }, { ownerReferences });
  }
  for (const { kind, isWithdrawn } of kinds)
    if (isWithdrawn)
      await api.delete(DEFINITION, { namespace: '', name: `${kind.resource}.${kind.group}` }, null);
}

async function isSeen(api: Api, kind: PlayedKind, namespace: string): Promise<void> {
  const name = `seen-${kind.kind.toLowerCase()}`;
  const uid = await api.create(kind, { namespace, name }, {});
  const reference = { apiVersion: apiVersionOf(kind.group, 'v1'), kind: kind.kind, name, uid };
  await api.create(KINDS.configMap, { namespace, name }, { ownerReferences: [reference] });
  await api.delete(kind, { namespace, name }, 'Background');
  await waitUntil(`the collector to see ${kind.kind}`, SEEN_MS, async () => {
    return (await api.read(KINDS.configMap, { namespace, name })) === null;
  });
}

function referenceTo(kinds: readonly OwnerKind[], owner: string, uid: string): Reference {
  const [kindName = '', name = ''] = owner.split('/');
  const kind = kinds.find((each) => each.kind.kind === kindName)?.kind ?? DEFINITION;
  return { apiVersion: apiVersionOf(kind.group, 'v1'), kind: kindName, name, uid };
}

/** What is left of the dependents, each with the owners that it still names. */
export async function survivors(api: Api, { namespace }: Withdrawal): Promise<readonly string[]> {
  const lists = await Promise.all(DEPENDENTS.map((kind) => api.list(kind)));
  return lists
    .flat()
    .filter((each) => each.namespace === namespace && each.name.startsWith('dependent-'))
    .map(({ name, ownerReferences }) => {
      const owners = ownerReferences.map((each) => `${each.kind}/${each.name}`);
      return `${name} of ${owners.toSorted().join(', ')}`;
    })
    .toSorted();
}

/** What is left where an owner that went with its definition counts as absent. */
export const expectedToStay = ({ kinds, dependents }: Withdrawal): readonly string[] => {
  const withdrawn = new Set(kinds.flatMap(({ kind, isWithdrawn }) => (isWithdrawn ? [kind.kind] : [])));
  return dependents
    .flatMap(({ name, owners, hasLivingOwner }) => {
      const left = owners.filter((owner) => !withdrawn.has(owner.split('/')[0] ?? ''));
      const all = hasLivingOwner ? [...left, 'ConfigMap/living'] : left;
      return all.length === 0 ? [] : [`${name} of ${all.toSorted().join(', ')}`];
    })
    .toSorted();
};
