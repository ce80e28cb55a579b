import type { LockHolder } from '../../../packages/machine/lock-holders.ts';
import type { LocalFileOption } from '../../node/executor/local/follow-local-rules.ts';
import type { LocalRules } from '../../node/executor/local/local-file.ts';
import type { OtherRemover } from '../../node/other-removers.ts';
import type { Looked } from '../finding.ts';
import type { PodFacts } from '../findings/kubelet.ts';
import type { DirectoryFacts, NameFacts, StateFacts } from '../findings/machine.ts';
import type { DiskFacts, RuntimeFacts } from '../findings/runtime.ts';
import type { PolicyFacts } from '../findings/steering.ts';
import type { LogFacts } from '../log/look-at-log.ts';

/** What somebody sees who looks at a node. All of it is looked at side by side, and once. */
export interface NodeFacts extends LogFacts {
  /** Which program looks. */
  readonly version: string;
  /** `null` where the system has no users. */
  readonly uid: number | null;
  readonly name: Looked<NameFacts>;
  readonly machineId: Looked<string>;
  readonly runtime: Promise<Looked<RuntimeFacts>>;
  /** How many names of images containerd's own API tells. */
  readonly imageNames: Promise<Looked<number>>;
  readonly disks: Promise<Looked<DiskFacts>>;
  /** `null` without a kubelet that could be asked. */
  readonly pods: Promise<Looked<PodFacts>> | null;
  /** The text of the kubelet's configuration; `null`: there is no such file. */
  readonly kubeletFile: Looked<string | null>;
  readonly podLogs: Promise<readonly DirectoryFacts[]>;
  readonly state: Promise<StateFacts>;
  readonly locks: Looked<readonly LockHolder[]>;
  /** Who removes through the same runtime with another state directory. */
  readonly others: readonly OtherRemover[];
  /** `null`: there is no file. */
  readonly localRules: Promise<LocalRules | null>;
  /** `null` where nobody knows which node this is. */
  readonly policy: Promise<Looked<PolicyFacts>> | null;
  readonly options: NodeSettings;
}

/** What checks repeat of the options. */
export interface NodeSettings {
  readonly machineIdFile: string;
  readonly imageLayers: boolean;
  readonly kubeletUrl: string | undefined;
  readonly kubeletConfigFile: string;
  readonly stateDirectory: string;
  readonly localFile: LocalFileOption;
}
