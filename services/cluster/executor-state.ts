import { join } from 'node:path';
import { openStateFiles, type StateFiles } from '../../packages/machine/state-directory.ts';
import { lockState } from '../../packages/machine/state-lock.ts';

/** Where everything of FleetGC lies that outlives a process. */
export const STATE_DIRECTORY = '/var/lib/fleetgc';

interface ExecutorState {
  readonly cluster: string;
  readonly stateDirectory?: string | undefined;
}

/**
 * What the executor of a cluster keeps; each replica has a directory of its own. Throws `STATE_UNWRITABLE` and
 * `STATE_IN_USE`.
 */
export function openExecutorState({ cluster, stateDirectory }: ExecutorState): StateFiles & Disposable {
  const files = openStateFiles(stateDirectory ?? join(STATE_DIRECTORY, `cluster-${cluster}`));
  const lock = lockState(files.path, ['executor']);
  return { ...files, [Symbol.dispose]: () => lock[Symbol.dispose]() };
}
