import type { DiscoveredGroup, DiscoveredResource } from '../../../../packages/kube-api/discovery.ts';
import { apiVersionOf, type ResourceKind } from '../../../../packages/owner-graph/kinds.ts';

/** What discovery says, as the graph needs it. */
export interface ServedKinds {
  /** Preferred versions of all that can be listed, watched and deleted, by `watchKey` (cluster I1). */
  readonly collectable: ReadonlyMap<string, ResourceKind>;
  /** Every kind in every version, by `referenceKey`; `ambiguous` where two resources have one kind. */
  readonly byReference: ReadonlyMap<string, ResourceKind | 'ambiguous'>;
  /** Groups of which a version was not told by whoever serves it (cluster I3). */
  readonly failedGroups: ReadonlySet<string>;
  /** All groups that were told. */
  readonly groups: ReadonlySet<string>;
}

/** Tells what is watched apart: one resource of a group, whatever its version. */
export const watchKey = ({ group, resource }: Pick<ResourceKind, 'group' | 'resource'>): string =>
  `${group}/${resource}`;
export const referenceKey = (apiVersion: string, kind: string): string => `${apiVersion} ${kind}`;

const NEEDED = ['list', 'watch', 'delete'] as const;
/** Events are records of what happened, and nobody's owners or dependents (cluster N9). */
const IGNORED: ReadonlySet<string> = new Set(['/events', 'events.k8s.io/events']);

export function servedKinds(groups: readonly DiscoveredGroup[]): ServedKinds {
  const collectable = new Map<string, ResourceKind>();
  const byReference = new Map<string, ResourceKind | 'ambiguous'>();
  const seen = new Set<string>();
  for (const resource of resourcesOf(groups)) {
    const kind = kindOf(resource);
    const reference = referenceKey(apiVersionOf(kind), kind.kind);
    byReference.set(reference, byReference.has(reference) ? 'ambiguous' : kind);
    const key = watchKey(kind);
    if (seen.has(key)) continue;
    seen.add(key);
    if (!IGNORED.has(key) && NEEDED.every((verb) => resource.verbs.includes(verb)))
      collectable.set(key, kind);
  }
  const failed = groups.filter(({ versions }) => versions.some(({ isStale }) => isStale));
  return {
    collectable,
    byReference,
    failedGroups: new Set(failed.map(({ group }) => group)),
    groups: new Set(groups.map(({ group }) => group)),
  };
}

/** Kinds of definitions, and of services that stand for aggregated APIs: without both nothing is known of what is not served. */
const DEFINING = [
  referenceKey('apiextensions.k8s.io/v1', 'CustomResourceDefinition'),
  referenceKey('apiregistration.k8s.io/v1', 'APIService'),
] as const;

/**
 * Whether the API server told all that it serves, and in no version of its group is the kind, or another one in its place. An answer
 * that is empty or partial, or in which any group failed, tells of nothing that it is not served (cluster S17).
 */
export function isSurelyUnserved(
  { byReference, failedGroups, groups }: ServedKinds,
  { group, kind, resource }: Pick<ResourceKind, 'group' | 'kind' | 'resource'>,
): boolean {
  if (failedGroups.size > 0 || !groups.has('') || !DEFINING.every((key) => byReference.has(key)))
    return false;
  return [...byReference].every(([key, served]) =>
    served === 'ambiguous'
      ? !key.startsWith(`${group}/`)
      : served.group !== group || (served.kind !== kind && served.resource !== resource),
  );
}

/** Of all versions, the preferred one of a group first. What names no kind is not served. */
const resourcesOf = (groups: readonly DiscoveredGroup[]): readonly DiscoveredResource[] =>
  groups.flatMap(({ versions }) =>
    versions.flatMap(({ resources }) => resources.filter(({ kind }) => kind !== '')),
  );

const kindOf = ({ group, version, kind, resource, namespaced }: DiscoveredResource): ResourceKind => ({
  group,
  version,
  kind,
  resource,
  namespaced,
});
