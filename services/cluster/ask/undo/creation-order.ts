import { kindName } from '../../../../schemas/events/cluster-objects.ts';
import type { ClusterRemoved } from '../../../../schemas/events/cluster-removed.ts';
import { compareText } from '../../../../schemas/events/text-order.ts';

/** Without these others cannot be created, whoever owns them. */
const FIRST: readonly string[] = [
  'Namespace',
  'project.openshift.io/Project',
  'apiextensions.k8s.io/CustomResourceDefinition',
  'scheduling.k8s.io/PriorityClass',
  'storage.k8s.io/StorageClass',
  'PersistentVolume',
  'ServiceAccount',
  'ConfigMap',
  'PersistentVolumeClaim',
];

interface Ordered {
  readonly removed: Pick<ClusterRemoved, 'object' | 'owners'>;
}

/** What others need before them: namespaces and definitions first, and owners before their dependents. */
export function inCreationOrder<Saved extends Ordered>(saved: readonly Saved[]): readonly Saved[] {
  const sorted = saved.toSorted(byKindAndName);
  const byUid = new Map(sorted.map((each) => [each.removed.object.uid, each]));
  const done = new Set<Saved>();
  const begun = new Set<Saved>();
  for (const each of sorted) {
    const open = [each];
    for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
      const waitsFor = begun.has(last) ? [] : ownersOf(last, byUid).filter((owner) => !begun.has(owner));
      begun.add(last);
      if (waitsFor.length > 0) {
        open.push(...waitsFor);
        continue;
      }
      open.pop();
      done.add(last);
    }
  }
  return [...done];
}

const ownersOf = <Saved extends Ordered>(
  { removed: { owners } }: Saved,
  byUid: ReadonlyMap<string, Saved>,
): readonly Saved[] => owners.flatMap(({ uid }) => byUid.get(uid) ?? []);

function byKindAndName({ removed: { object: a } }: Ordered, { removed: { object: b } }: Ordered): number {
  return (
    rankOf(a) - rankOf(b) ||
    compareText(kindName(a), kindName(b)) ||
    compareText(a.namespace, b.namespace) ||
    compareText(a.name, b.name)
  );
}

const rankOf = (object: Parameters<typeof kindName>[0]): number => {
  const rank = FIRST.indexOf(kindName(object));
  return rank < 0 ? FIRST.length : rank;
};
