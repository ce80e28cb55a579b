/** A resource by the words of its paths. */
export interface ApiResource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** `replicasets`. */
  readonly resource: string;
  readonly namespaced: boolean;
}

/** One whose objects can be told from others by what their answers say. */
export interface ApiKind extends ApiResource {
  /** `ReplicaSet`. */
  readonly kind: string;
}

export interface ApiObjectName {
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

const root = ({ group, version }: ApiResource): string =>
  group === ''
    ? `/api/${encodeURIComponent(version)}`
    : `/apis/${encodeURIComponent(group)}/${encodeURIComponent(version)}`;

/** All objects of the resource, in all namespaces. */
export const collectionPath = (resource: ApiResource, query: Readonly<Record<string, string>>): string => {
  const search = new URLSearchParams(query).toString();
  return `${root(resource)}/${encodeURIComponent(resource.resource)}${search === '' ? '' : `?${search}`}`;
};

/** Those of one namespace. */
export const namespacedPath = (resource: ApiResource, namespace: string): string =>
  `${root(resource)}/namespaces/${segment(namespace)}/${encodeURIComponent(resource.resource)}`;

/** Names come from objects that others wrote: nothing in them may lead to another path. */
export function objectPath(
  resource: ApiResource,
  { namespace, name }: ApiObjectName,
  subresource = '',
): string {
  const place = resource.namespaced ? `/namespaces/${segment(namespace)}` : '';
  const below = subresource === '' ? '' : `/${segment(subresource)}`;
  return `${root(resource)}${place}/${encodeURIComponent(resource.resource)}/${segment(name)}${below}`;
}

/** Whether a path can lead to an object of this name: references name what they like. */
export const hasPath = ({ namespaced }: Pick<ApiResource, 'namespaced'>, named: ApiObjectName): boolean =>
  [named.name, ...(namespaced ? [named.namespace] : [])].every(isSegment);

const isSegment = (text: string): boolean =>
  text !== '' && text !== '.' && text !== '..' && text.isWellFormed();

/** A dot by itself would name another path, however it is encoded. */
function segment(text: string): string {
  if (!isSegment(text)) throw new RangeError(`"${text}" is no name of an object`);
  return encodeURIComponent(text);
}
