import { kubeletPodSource } from '../../packages/cri/kubelet/kubelet-pods.ts';
import type { KubeletPod, PodSource } from '../../packages/cri/kubelet/pod-source.ts';
import type { RuntimeReader } from '../../packages/cri/port.ts';
import type { NodeClock } from '../../packages/machine/clock.ts';
import type { FilesystemReader } from '../../packages/machine/filesystem.ts';
import type { PodLogRoots } from '../../packages/machine/pod-log-roots.ts';
import type { StateDirectory } from '../../packages/machine/state-directory.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import type { NodeIdentity } from '../../schemas/events/identity.ts';
import { haveDelivered, type KubeletSource } from './agent/pods.ts';
import type { WantedPod } from './executor/facts.ts';
import type { KubeletOptions } from './node-options.ts';

/** A node that agent and executor work on: this machine, or one made up. */
export interface ManagedNode {
  readonly identity: NodeIdentity;
  readonly nodeLabels: Readonly<Record<string, string>>;
  /** `unix://…` or a path. */
  readonly runtimeEndpoint: string;
  /** Whether containerd's own API is asked beside CRI. */
  readonly imageLayers: boolean;
  readonly clock: NodeClock;
  readonly state: StateDirectory;
  /** Measures the filesystems that the runtime names. `onUnmeasured` takes what cannot be, whenever it changes. */
  readonly filesystems: (
    runtime: Pick<RuntimeReader, 'imageFilesystems'>,
    onUnmeasured?: (problems: readonly string[]) => void,
  ) => FilesystemReader;
  readonly podLogs: PodLogRoots;
  readonly pods: KubeletPods;
  readonly podSources: readonly KubeletSource[];
}

/** Where the process learns of pods, and which of them it has heard of last. */
interface KubeletPods {
  /** `null`: no kubelet is configured. */
  readonly source: PodSource | null;
  /**
   * For the executor: what pods want stays, be the kubelet silent meanwhile or just starting. `null` until it told once.
   */
  readonly wanted: () => readonly WantedPod[] | null;
  /**
   * The pods of this moment, for the executor. Rejects with `PODS_UNREADABLE`, also while a source has not delivered.
   * `null`: no kubelet is configured.
   */
  readonly now: (() => Promise<readonly KubeletPod[]>) | null;
}

export function openKubeletPods(options: KubeletOptions): KubeletPods & Disposable {
  const { kubeletUrl } = options;
  if (kubeletUrl === undefined)
    return { source: null, wanted: () => [], now: null, [Symbol.dispose]: () => {} };
  const kubelet = kubeletPodSource({
    url: kubeletUrl,
    caFile: options.kubeletCaFile ?? null,
    serverName: options.kubeletServerName ?? null,
    certificateFile: options.kubeletCertificateFile ?? null,
    keyFile: options.kubeletKeyFile ?? null,
    tokenFile: options.kubeletTokenFile ?? null,
  });
  return { ...cachePods(kubelet, options.podSources), [Symbol.dispose]: () => kubelet[Symbol.dispose]() };
}

/** Passes every answer on and remembers it. */
export function cachePods({ list }: PodSource, sources: readonly KubeletSource[]): KubeletPods {
  let lastWhole: readonly WantedPod[] | null = null;
  let wanted: readonly WantedPod[] | null = null;
  const source: PodSource = {
    list: async () => {
      const listing = await list();
      if (haveDelivered(listing, sources)) lastWhole = listing.pods;
      if (lastWhole !== null)
        wanted = lastWhole === listing.pods ? lastWhole : [...lastWhole, ...listing.pods];
      return listing;
    },
  };
  return {
    source,
    wanted: () => wanted,
    now: async () => {
      const listing = await source.list();
      if (haveDelivered(listing, sources)) return listing.pods;
      throw notDelivered(sources);
    },
  };
}

const notDelivered = (sources: readonly KubeletSource[]): FleetGcError =>
  new FleetGcError(
    'PODS_UNREADABLE',
    `the kubelet does not know a pod from each of its sources (${sources.join(', ')}) yet, so nobody can say that one is gone`,
  );
