import type { Policy } from '../../../schemas/policy/policy.ts';

/** Which disks are too full by their policy, since when, and how soon something went. */
export interface PressureTally {
  /** How full the disk of a node is now. */
  measured(node: string, disk: MeasuredDisk, policy: Policy | null): void;
  /** Something of the node went. */
  removed(node: string): void;
  counts(): PressureCounts;
}

export interface MeasuredDisk {
  readonly capacityBytes: bigint;
  readonly availableBytes: bigint;
}

export interface PressureCounts {
  /** Nodes that were above their threshold at least once. */
  readonly nodes: number;
  readonly relieved: number;
  /** Above it at the end. */
  readonly unrelieved: number;
  readonly times: number;
  /** From above the threshold to the first removal, in milliseconds of the fleet. */
  readonly toFirstRemovalMs: Spread;
  /** The same in those of the machine, which go on where it is too slow for the rate. */
  readonly toFirstRemovalRealMs: Spread;
}

interface Spread {
  readonly count: number;
  readonly p50: number | null;
  readonly p99: number | null;
}

interface Episode {
  readonly sinceMs: number;
  readonly sinceRealMs: number;
  hasRemoved: boolean;
}

export function createPressureTally(nowMs: () => number, realNowMs: () => number): PressureTally {
  const open = new Map<string, Episode>();
  const everUnder = new Set<string>();
  const latencies: Readonly<Record<'fleetMs' | 'realMs', number[]>> = { fleetMs: [], realMs: [] };
  let times = 0;
  return {
    measured: (node, disk, policy) => {
      if (!isAbove(disk, policy)) {
        open.delete(node);
        return;
      }
      if (open.has(node)) return;
      open.set(node, { sinceMs: nowMs(), sinceRealMs: realNowMs(), hasRemoved: false });
      everUnder.add(node);
      times += 1;
    },
    removed: (node) => {
      const episode = open.get(node);
      if (episode === undefined || episode.hasRemoved) return;
      episode.hasRemoved = true;
      latencies.fleetMs.push(nowMs() - episode.sinceMs);
      latencies.realMs.push(Math.round(realNowMs() - episode.sinceRealMs));
    },
    counts: () => {
      const [nodes, unrelieved] = [everUnder.size, open.size];
      return {
        nodes,
        relieved: nodes - unrelieved,
        unrelieved,
        times,
        toFirstRemovalMs: spreadOf(latencies.fleetMs),
        toFirstRemovalRealMs: spreadOf(latencies.realMs),
      };
    },
  };
}

/** Used by at least the high threshold, in whole percent (D6). */
function isAbove({ capacityBytes, availableBytes }: MeasuredDisk, policy: Policy | null): boolean {
  if (policy === null) return false;
  const usedPercent = 100n - (availableBytes * 100n) / capacityBytes;
  return usedPercent >= BigInt(policy.imageGCHighThresholdPercent);
}

function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  return { count: sorted.length, p50: at(sorted, 0.5), p99: at(sorted, 0.99) };
}

const at = (sorted: readonly number[], share: number): number | null =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
