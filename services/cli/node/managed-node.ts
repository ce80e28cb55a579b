import type { NodeIdentity } from '../../../schemas/identity.ts';
import type { KubeletSource } from '../../node-agent/pod-states.ts';
import type { NodeClock } from '../../shared/clock.ts';
import type { RuntimeReader } from '../../shared/cri/port.ts';
import type { FilesystemReader } from '../../shared/filesystem.ts';
import type { LogDirectories } from '../../shared/log-directories.ts';
import type { StateDirectory } from '../../shared/state-directory.ts';
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
