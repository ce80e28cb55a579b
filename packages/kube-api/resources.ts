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

/** Of kinds that the API server serves itself, those in groups that a definition could have too. */
const BUILT_IN: Readonly<Record<string, readonly string[]>> = {
  'admissionregistration.k8s.io': [
    'mutatingwebhookconfigurations',
    'validatingadmissionpolicies',
    'validatingadmissionpolicybindings',
    'validatingwebhookconfigurations',
  ],
  'apiextensions.k8s.io': ['customresourcedefinitions'],
  'apiregistration.k8s.io': ['apiservices'],
  'certificates.k8s.io': ['certificatesigningrequests'],
  'coordination.k8s.io': ['leases'],
  'discovery.k8s.io': ['endpointslices'],
  'flowcontrol.apiserver.k8s.io': ['flowschemas', 'prioritylevelconfigurations'],
  'networking.k8s.io': ['ingressclasses', 'ingresses', 'networkpolicies'],
  'node.k8s.io': ['runtimeclasses'],
  'rbac.authorization.k8s.io': ['clusterrolebindings', 'clusterroles', 'rolebindings', 'roles'],
  'resource.k8s.io': ['deviceclasses', 'resourceclaims', 'resourceclaimtemplates', 'resourceslices'],
  'scheduling.k8s.io': ['priorityclasses'],
  'storage.k8s.io': ['csidrivers', 'csinodes', 'csistoragecapacities', 'storageclasses', 'volumeattachments'],
};

/** Whether no definition can be that of the kind: the API server takes none whose group has no dot. */
export const isBuiltIn = ({ group, resource }: Pick<ApiResource, 'group' | 'resource'>): boolean =>
  !group.includes('.') || (BUILT_IN[group]?.includes(resource) ?? false);
