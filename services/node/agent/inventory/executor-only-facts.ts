import type { StateDirectory } from '../../../../packages/machine/state-directory.ts';
import { toFleetGcError } from '../../../../packages/process/errors.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import type { NodeAgentDeps } from '../agent.ts';
import {
  DISK_HISTORY_FILE,
  type DiskHistory,
  DiskHistoryFile,
  fold,
  NO_DISK_HISTORY,
  reloadDiskHistory,
} from '../disks/disk-stats.ts';
import { readHistory } from '../images/kept-history.ts';
import { watchPods } from '../pods/pod-watch.ts';
import { agentEvents } from './inventory.ts';
import { ownInventory, type TakeInventory } from './inventory-for-executor.ts';
import { createNodeScanner } from './node-scan.ts';
import { backoffReader, contentsOfScans, removedImagesReader } from './objects-from-scan.ts';

/** The facts of an executor in a process of its own; its records of images are those that the agent keeps. */
interface ExecutorOnlyFacts {
  readonly takeInventory: TakeInventory;
  /** Follows the pods and the disks: whether a pod is gone takes more than one scan (A7). */
  readonly detect: () => Promise<void>;
  readonly diskHistory: () => DiskHistory;
}

type ExecutorOnlyParts = Pick<
  NodeAgentDeps,
  | 'identity'
  | 'nodeLabels'
  | 'runtime'
  | 'contents'
  | 'filesystems'
  | 'podLogs'
  | 'pods'
  | 'podSources'
  | 'clock'
  | 'logger'
> & { readonly state: Pick<StateDirectory, 'openReadOnly'> };

export function executorOnlyFacts(parts: ExecutorOnlyParts): ExecutorOnlyFacts {
  const { identity, nodeLabels, state, clock, logger } = parts;
  const startedAt = clock.now();
  const history = readHistory({ state, now: startedAt, removed: removedImagesReader(state, logger) });
  const pods = watchPods({ source: parts.pods, sources: parts.podSources, clock, logger });
  const scan = createNodeScanner({ ...parts, pods, history });
  let disks = historyOfAgent(parts, startedAt);
  return {
    takeInventory: ownInventory({
      scan,
      events: agentEvents({ identity, nodeLabels, startedAt }),
      backoff: backoffReader(state, logger),
      contentsOf: contentsOfScans(parts.contents),
      lastScan: () => null,
      clock,
    }),
    detect: async () => {
      await scan();
      disks = fold(disks, await parts.filesystems.read(), clock.now().sinceBootMs);
    },
    diskHistory: () => disks,
  };
}

/** What the agent saw before this process began; without it only what this process sees itself counts. */
function historyOfAgent({ state, logger }: ExecutorOnlyParts, now: Instant): DiskHistory {
  try {
    const found = state.openReadOnly(DISK_HISTORY_FILE, DiskHistoryFile).read();
    return found === null ? NO_DISK_HISTORY : reloadDiskHistory(found, now);
  } catch (error) {
    logger.warn({ problem: toFleetGcError(error).message }, 'disk history of the agent unreadable');
    return NO_DISK_HISTORY;
  }
}
