import { z } from 'zod';

/** A file of another tool that has the kubelet's settings somewhere within. */
interface Wrapper {
  /** As its tool calls it, with its article. */
  readonly what: string;
  /** Where the settings lie in it. */
  readonly place: string;
  /** What has to be there for a file to be one. */
  readonly shape: z.ZodType;
}

const some = z.unknown().refine((value) => value !== undefined && value !== null);
const apiGroup = (group: string, kind: string) =>
  z.looseObject({ apiVersion: z.string().startsWith(`${group}/`), kind: z.literal(kind) });

const WRAPPERS: readonly Wrapper[] = [
  {
    what: 'an OpenShift KubeletConfig',
    place: 'spec.kubeletConfig',
    shape: apiGroup('machineconfiguration.openshift.io', 'KubeletConfig'),
  },
  {
    what: 'the configuration of a kind cluster',
    place: 'kubeadmConfigPatches, in the patch of kind KubeletConfiguration',
    shape: apiGroup('kind.x-k8s.io', 'Cluster'),
  },
  {
    what: 'the configuration of an EKS node',
    place: 'spec.kubelet.config',
    shape: apiGroup('node.eks.aws', 'NodeConfig'),
  },
  { what: 'a kOps cluster', place: 'spec.kubelet', shape: apiGroup('kops.k8s.io', 'Cluster') },
  {
    what: 'the configuration of a k0s cluster',
    place: 'spec.workerProfiles[].values',
    shape: apiGroup('k0s.k0sproject.io', 'ClusterConfig'),
  },
  {
    what: 'a Gardener Shoot',
    place: 'spec.kubernetes.kubelet',
    shape: apiGroup('core.gardener.cloud', 'Shoot'),
  },
  {
    what: 'a ConfigMap',
    place: 'data.kubelet, as text',
    shape: z.looseObject({ apiVersion: z.literal('v1'), kind: z.literal('ConfigMap') }),
  },
  {
    what: "an answer of the kubelet's /configz",
    place: 'kubeletconfig, without apiVersion and kind',
    shape: z.looseObject({ kubeletconfig: some }),
  },
  {
    what: 'the machine configuration of a Talos node',
    place: 'machine.kubelet.extraConfig, without apiVersion and kind',
    shape: z.looseObject({ machine: z.looseObject({ kubelet: some }) }),
  },
  {
    what: 'a configuration file of K3s or RKE2',
    place: 'arguments of the kubelet (kubelet-arg), or in the file that its argument config names',
    shape: z.looseObject({ 'kubelet-arg': some }),
  },
];

/** Where the settings lie in a file that holds them within; `null` of any other file. */
export function wrapperAdvice(value: unknown): string | null {
  const wrapper = WRAPPERS.find(({ shape }) => shape.safeParse(value).success);
  if (wrapper === undefined) return null;
  return `this is ${wrapper.what}: the settings of the kubelet are in ${wrapper.place}. Put them into a file of their own, below apiVersion: kubelet.config.k8s.io/v1beta1 and kind: KubeletConfiguration`;
}
