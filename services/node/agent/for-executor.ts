import { MAX_FACTS_AGE_MS } from '../../../packages/cri/listing-types.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import {
  DISK_HISTORY_FILE,
  type DiskHistory,
  DiskHistoryFile,
  fold,
  NO_DISK_HISTORY,
  reloadDiskHistory,
} from './disks.ts';
import { type AgentEvents, agentEvents, type BackoffEntries } from './event.ts';
import { backoffReader, removedImagesReader } from './executor-files.ts';
import { readHistory } from './history.ts';
import { watchPods } from './pods.ts';
import {
  type ContentsOfScan,
  contentsOfScans,
  createNodeScanner,
  type NodeScan,
  type NodeSources,
} from './scan.ts';

/**
 * An inventory that nobody publishes, as if this reclaim had asked for it: of a scan begun at most a second before, and
 * after `actions`, what was last done on this node.
 */
export type TakeInventory = (reclaim: Reclaim | null, actions: readonly Instant[]) => Promise<Inventory>;

interface OwnInventoryParts {
  readonly scan: () => Promise<NodeScan>;
  /** The last scan of this process, for whatever it was; `null` where it never scans on its own account. */
  readonly lastScan: () => NodeScan | null;
  readonly events: AgentEvents;
  readonly backoff: () => BackoffEntries;
  readonly contentsOf: ContentsOfScan;
  readonly clock: NodeClock;
}

/** Only people read which runtime it is. */
const RUNTIME = { name: '', version: '' };

/** What the executor of this node judges by: the same scan and the same inventory as an agent's, and no message's word. */
export const ownInventory = (parts: OwnInventoryParts): TakeInventory => {
  const { scan, events, backoff, contentsOf } = parts;
  return async (reclaim, actions) => {
    // However long a slow runtime takes for it: the plan made of it only narrows what each object's own judgement, on facts
    // of the last second, may let go, and every age counts up to `takenAt`, before the first fact.
    const found = recentScan(parts, actions) ?? (await scan());
    return events.inventory(
      { scan: found, trigger: 'interval', reclaim, diedContainerIds: [], runtime: RUNTIME },
      // While the records cannot be read every image counts as just detected, which needs no further care.
      { backoff: backoff(), historyUnreadable: null, ...(await contentsOf(found)) },
    );
  };
};

function recentScan({ lastScan, clock }: OwnInventoryParts, actions: readonly Instant[]): NodeScan | null {
  const last = lastScan();
  if (last?.status !== 'complete') return null;
  const isLaterThan = (at: Instant): boolean =>
    at.bootId !== last.takenAt.bootId || at.sinceBootMs < last.takenAt.sinceBootMs;
  const now = clock.now();
  // A command follows the scan of its inventory within a tenth of that.
  const isRecent =
    now.bootId === last.takenAt.bootId && now.sinceBootMs - last.takenAt.sinceBootMs <= MAX_FACTS_AGE_MS;
  return isRecent && actions.every(isLaterThan) ? last : null;
}

/** The facts of an executor in a process of its own; its records of images are those that the agent keeps. */
interface ExecutorOnlyFacts {
  readonly takeInventory: TakeInventory;
  /** Follows the pods and the disks: whether a pod is gone takes more than one scan (A7). */
  readonly detect: () => Promise<void>;
  readonly diskHistory: () => DiskHistory;
}

type ExecutorOnlyParts = NodeSources & { readonly state: Pick<StateDirectory, 'openReadOnly'> };

export function executorOnlyFacts(parts: ExecutorOnlyParts): ExecutorOnlyFacts {
  const { identity, nodeLabels, state, clock, logger } = parts;
  const startedAt = clock.now();
  const history = readHistory({ state, now: startedAt, removed: removedImagesReader(state, logger) });
  const pods = watchPods({ source: parts.pods, sources: parts.podSources, clock, logger });
  const scan = createNodeScanner(parts, pods, history);
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
