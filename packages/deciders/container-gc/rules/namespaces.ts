import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import { ObjectKind } from '../../../../schemas/events/object-kinds.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import type { Kept, Note } from '../../../decision/conclusion.ts';
import { type EntryOf, entriesOf } from '../../../decision/inventory-entries.ts';
import { namespaceOfLogDirectory, namespaceOfSymlink } from '../../../decision/log-names.ts';

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
