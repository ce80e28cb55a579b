import { counted } from '../../../packages/text/counted.ts';
import { type ClusterObject, kindName } from '../../../schemas/events/cluster-objects.ts';

export type Named = Pick<ClusterObject, 'group' | 'kind' | 'namespace' | 'name'>;

const MOST_NAMES = 3;

/** `3 ConfigMap (ns/a, ns/b, ns/c)`, `12 objects (ConfigMap ns/a, Secret ns/b, Secret ns/c and 9 more)` */
export function objectsText(count: number, objects: readonly Named[]): string {
  const kinds = new Set(objects.map(kindName));
  const [kind] = kinds;
  const isOneKind = kind !== undefined && kinds.size === 1;
  const names = objects
    .slice(0, MOST_NAMES)
    .map((object) => (isOneKind ? nameOf(object) : `${kindName(object)} ${nameOf(object)}`));
  if (names.length === 0) return counted(count, 'object');
  const more = count > names.length ? ` and ${count - names.length} more` : '';
  return isOneKind && count === 1
    ? `${kind} ${names.join('')}`
    : `${isOneKind ? `${count} ${kind}` : counted(count, 'object')} (${names.join(', ')}${more})`;
}

/** As `audit explain` and `undo` take it. */
export const askedName = (object: Named): string => `${kindName(object)}/${nameOf(object)}`;

export const nameOf = ({ namespace, name }: Pick<Named, 'namespace' | 'name'>): string =>
  namespace === '' ? name : `${namespace}/${name}`;
