import { resolve } from 'node:path';
import type { PodLogRoots } from '../../../packages/machine/pod-log-roots.ts';
import { followLocalRules, type LocalFileOption, type LocalRulesParts } from './local/follow-local-rules.ts';
import type { LocalRules } from './local/local-file.ts';
import { type OpenDirectory, openDirectory } from './removal/open-directory.ts';

/** Where logs lie, and how a directory of them is opened. */
export interface PodLogAccess extends PodLogRoots {
  /** Opens the directory that `path` leads to, over links too. Rejects where there is none. */
  openDirectory(path: string): Promise<OpenDirectory>;
}

/** What of the node's files an executor reads and removes, beside its state. */
export interface NodeFiles {
  readonly podLogs: PodLogAccess;
  /** The node's last word at this moment. */
  localRules(): Promise<LocalRules>;
}

export interface ExecutorOptions extends PodLogRoots {
  /** The node's own file, which no order can widen. */
  readonly localFile: LocalFileOption;
}

/** Those of a real node. */
export const filesOnDisk = (
  { podLogsDir, containerLogsDir, localFile }: ExecutorOptions,
  parts: LocalRulesParts,
): NodeFiles => ({
  podLogs: {
    podLogsDir: resolve(podLogsDir),
    containerLogsDir: resolve(containerLogsDir),
    openDirectory,
  },
  localRules: followLocalRules(localFile, parts),
});
