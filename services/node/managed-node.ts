import type { RuntimeReader } from '../../packages/cri/port.ts';
import type { NodeClock } from '../../packages/machine/clock.ts';
import type { FilesystemReader } from '../../packages/machine/filesystem.ts';
import type { LogDirectories } from '../../packages/machine/log-directories.ts';
import type { StateDirectory } from '../../packages/machine/state-directory.ts';
import type { NodeIdentity } from '../../schemas/events/identity.ts';
import type { KubeletSource } from '../node-agent/pods/pod-states.ts';
import type { KubeletPods } from './kubelet-pods.ts';

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
  /** Measures the filesystems that the runtime names. */
  readonly filesystems: (runtime: Pick<RuntimeReader, 'imageFilesystems'>) => FilesystemReader;
  readonly logs: LogDirectories;
  readonly pods: KubeletPods;
  readonly podSources: readonly KubeletSource[];
}
