import type { ContainerdNode } from './containerd-node.ts';

/** What a test wants of a kubelet; by default it removes nothing by itself. */
export interface KubeletSettings {
  /** Fields of KubeletConfiguration. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  /** Dead containers that it leaves of each container of a pod; `--maximum-dead-containers-per-container`. */
  readonly deadContainersPerContainer?: number;
  /** Containers that are younger stay; `--minimum-container-ttl-duration`. */
  readonly minimumContainerTtl?: string;
  /** With it the kubelet joins an API server, and takes pods from there too. */
  readonly kubeconfig?: unknown;
}

interface Place {
  readonly node: Pick<ContainerdNode, 'name'>;
  readonly podFolder: string;
}

/** Its files in `CONFIGURATION_FOLDER` by name, and its flags, for a node that is a container itself. */
export function kubeletConfiguration(
  {
    configuration = {},
    deadContainersPerContainer = 100,
    minimumContainerTtl = '24h',
    kubeconfig,
  }: KubeletSettings,
  { node, podFolder }: Place,
): { readonly files: Readonly<Record<string, unknown>>; readonly flags: readonly string[] } {
  const joins = kubeconfig !== undefined;
  return {
    files: {
      'kubelet.json': { ...BASE, staticPodPath: podFolder, ...configuration },
      ...(joins && { [KUBECONFIG]: kubeconfig }),
    },
    flags: [
      `--hostname-override=${node.name}`,
      `--maximum-dead-containers-per-container=${deadContainersPerContainer}`,
      `--minimum-container-ttl-duration=${minimumContainerTtl}`,
      ...(joins ? [`--kubeconfig=${CONFIGURATION_FOLDER}/${KUBECONFIG}`] : []),
    ],
  };
}

export const CONFIGURATION_FOLDER = '/etc/kubernetes';
const KUBECONFIG = 'kubeconfig.json';

const NO_EVICTION = {
  'memory.available': '0%',
  'nodefs.available': '0%',
  'nodefs.inodesFree': '0%',
  'imagefs.available': '0%',
  'imagefs.inodesFree': '0%',
};

const BASE = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  readOnlyPort: 10255,
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  // The control groups are the host's: the kubelet makes none and sets no limits.
  failCgroupV1: false,
  cgroupDriver: 'cgroupfs',
  cgroupsPerQOS: false,
  enforceNodeAllocatable: [],
  failSwapOn: false,
  makeIPTablesUtilChains: false,
  // Without it the kubelet reads no disk statistics.
  localStorageCapacityIsolation: true,
  featureGates: { KubeletInUserNamespace: true, KubeletCrashLoopBackOffMax: true },
  crashLoopBackOff: { maxContainerRestartPeriod: '1s' },
  fileCheckFrequency: '1s',
  imageGCHighThresholdPercent: 100,
  imageGCLowThresholdPercent: 99,
  evictionHard: NO_EVICTION,
};
