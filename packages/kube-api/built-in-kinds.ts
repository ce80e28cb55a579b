import type { ApiResource } from './resources.ts';

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
