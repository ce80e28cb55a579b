import type { DiscoveredGroup } from '../../../packages/kube-api/discovery.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import { servedKinds, watchKey } from '../agent/kinds/served-kinds.ts';

/** A kind as rights are given on it. */
export interface KindRights {
  readonly group: string;
  readonly kind: string;
  readonly resource: string;
  /** It is listed, watched and deleted (cluster I1). */
  readonly isCollectable: boolean;
  /** Its objects can be asked for one by one. */
  readonly isReadable: boolean;
}
export type KnownKinds = readonly KindRights[];

/** Discovery tells parts of objects beside them, such as `nodes/proxy`: nobody gets a right on one here. */
const isWhole = (resource: string): boolean => /^[a-z0-9.-]+$/.test(resource);

/** Every kind that an API server serves, by group and resource. */
export function discoveredKinds(groups: readonly DiscoveredGroup[]): KnownKinds {
  const { collectable } = servedKinds(groups);
  const kinds = new Map<string, KindRights>();
  for (const { versions } of groups)
    for (const { resources } of versions)
      for (const { group, kind, resource, verbs } of resources) {
        if (!isWhole(resource)) continue;
        const key = watchKey({ group, resource });
        const isReadable = (kinds.get(key)?.isReadable ?? false) || verbs.includes('get');
        kinds.set(key, { group, kind, resource, isCollectable: collectable.has(key), isReadable });
      }
  return [...kinds.values()].toSorted(
    (a, b) => compareText(a.group, b.group) || compareText(a.resource, b.resource),
  );
}
