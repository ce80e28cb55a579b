import type { CompleteInventory, InventoryPod } from '../../../../schemas/events/inventory.ts';
import { ObjectKind } from '../../../../schemas/events/object-kinds.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import type { Kept, Note } from '../../../decision/conclusion.ts';
import { isAmong, listedTwice } from '../../../decision/inventory-checks.ts';
import {
  type EntryOf,
  entriesOf,
  namespaceOfLogDirectory,
  namespaceOfSymlink,
} from '../../../decision/inventory-entries.ts';

/** What is asked about pods. */
interface PodQuestion {
  readonly inventory: Pick<CompleteInventory, 'pods' | 'allSourcesReady'>;
  readonly policy: Pick<Policy, 'profile'>;
  /** Also pods whose containers have all stopped for good, deleted or not (G2). */
  readonly evictNonDeletedPods: boolean;
}

/**
 * UIDs of the pods of which all dead containers and logs may go: those whose content is removable and, with
 * `evictNonDeletedPods`, those whose containers have all stopped for good (G2, G6, I3). A UID that is not listed, listed
 * twice or unknown is not among them, and none is before every pod source has delivered (A8, K1). In profile `fleetgc`
 * only a pod that is gone counts, in profile `kubelet` the kubelet's word.
 */
export const removablePods = (question: PodQuestion): ReadonlySet<string> =>
  question.inventory.allSourcesReady ? removableByAnswer(question) : new Set();

/** As `removablePods`, where the kubelet does not ask its sources (G23, H4). FleetGC's own profile always does. */
export const removablePodsUngated = (question: PodQuestion): ReadonlySet<string> =>
  question.policy.profile === 'kubelet' ? removableByAnswer(question) : removablePods(question);

/** UIDs of pods that are gone: what goes with one is asked about again before it does. */
export const gonePods = ({ inventory: { pods } }: PodQuestion): ReadonlySet<string> =>
  new Set(pods.filter(({ state }) => state === 'gone').map(({ uid }) => uid));

function removableByAnswer({
  inventory: { pods },
  policy: { profile },
  evictNonDeletedPods,
}: PodQuestion): ReadonlySet<string> {
  const twice = listedTwice(pods.map(({ uid }) => uid));
  const isContentRemovable = profile === 'kubelet' ? saysRemovable : isGone;
  const removable = pods.filter(
    (pod) =>
      !isAmong(twice, pod.uid) && (isContentRemovable(pod) || (evictNonDeletedPods && isTerminated(pod))),
  );
  return new Set(removable.map(({ uid }) => uid));
}

const isGone = ({ state, contentRemovable }: InventoryPod): boolean => state === 'gone' && contentRemovable;

/** Evicted, or deleted and terminated, or gone (A8, A9). */
const saysRemovable = ({ state, contentRemovable }: InventoryPod): boolean =>
  state !== 'unknown' && contentRemovable;

const isTerminated = ({ state, runtimeRemovable }: InventoryPod): boolean =>
  state !== 'unknown' && runtimeRemovable;

/** Why an object of this namespace is kept; one whose namespace nobody knows could be in any (M11). */
export function keptByNamespace(namespace: string | undefined, { keep }: Policy): Kept | undefined {
  if (keep.namespaces.length === 0) return undefined;
  if (namespace !== undefined && namespace !== '' && !namespacesIn(keep).has(namespace)) return undefined;
  return { rule: 'M11', facts: { namespace: namespace ?? null } };
}

const sets = new WeakMap<Policy['keep'], ReadonlySet<string>>();

/** Made once for each policy. */
function namespacesIn(keep: Policy['keep']): ReadonlySet<string> {
  const before = sets.get(keep);
  if (before !== undefined) return before;
  const made = new Set(keep.namespaces);
  sets.set(keep, made);
  return made;
}

/** The namespace of an object, by its kind; images have none. */
const NAMESPACES: { readonly [Kind in ObjectKind]: (entry: EntryOf<Kind>) => string | undefined } = {
  container: ({ pod }) => pod?.namespace,
  sandbox: ({ pod }) => pod?.namespace,
  'pod-log-directory': ({ name }) => namespaceOfLogDirectory(name),
  'log-symlink': ({ name }) => namespaceOfSymlink(name),
  image: () => undefined,
};

const namespacesOf = <Kind extends ObjectKind>(
  inventory: CompleteInventory,
  kind: Kind,
): readonly (string | undefined)[] => entriesOf(inventory, kind).map(NAMESPACES[kind]);

/** Rules of the keep list that no object of the node meets. */
export function unmatchedNamespaces(inventory: CompleteInventory, { keep }: Policy): Note[] {
  if (keep.namespaces.length === 0) return [];
  const found = new Set(ObjectKind.options.flatMap((kind) => namespacesOf(inventory, kind)));
  return keep.namespaces
    .filter((namespace) => !found.has(namespace))
    .map((namespace) => ({
      rule: 'M11',
      message: `keep.namespaces: nothing on this node is of the namespace ${namespace}`,
    }));
}
