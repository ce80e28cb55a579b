import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import { FilesystemName, type FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import { believeUsage, type FilesystemUsage } from '../../decision/thresholds/filesystem-usage.ts';
import { type DiskRow, SPAN_MS } from './rows.ts';

/** Three hours: statistics carry two. What a node says of other times is no curve: nobody would let go of points of the future. */
const CARRIED_SPANS = 18;

/** Where all are one disk, it is told as that of the images. */
const ORDER: readonly FilesystemName[] = ['imagefs', ...FilesystemName.exclude(['imagefs']).options];

/** The filesystems of a node, each disk once, under the first of its names. */
export function disksOf(filesystems: FilesystemReadings): readonly FilesystemName[] {
  const devices = new Map<string, FilesystemName>();
  for (const name of ORDER) {
    const device = filesystems[name]?.device;
    if (device !== undefined && !devices.has(device)) devices.set(device, name);
  }
  return [...devices.values()];
}

/** The curve of two hours that disk statistics carry, by the log's clock. */
export function diskRows(node: string, stats: DiskStats, atMs: number): readonly DiskRow[] {
  const { filesystems, history, takenAt } = stats;
  return disksOf(filesystems).flatMap((filesystem) => {
    const usage = usageOf(filesystems, filesystem);
    if (usage === null) return [];
    const spans = new Map<number, DiskRow>();
    for (const [startMs, leastFree, mostFree] of history[filesystem].availableBytes)
      widen(spans, {
        table: 'disks',
        node,
        filesystem,
        span: Math.floor((atMs - takenAt.sinceBootMs + startMs) / SPAN_MS),
        least: usedThousandths(usage, BigInt(mostFree)),
        most: usedThousandths(usage, BigInt(leastFree)),
      });
    widen(spans, readingRow(node, filesystem, usage, atMs));
    const newest = Math.floor(atMs / SPAN_MS);
    return [...spans.values()].filter(({ span }) => span > newest - CARRIED_SPANS && span <= newest);
  });
}

/** One reading of each disk. */
export const readingRows = (
  node: string,
  filesystems: FilesystemReadings,
  atMs: number,
): readonly DiskRow[] =>
  disksOf(filesystems).flatMap((filesystem) => {
    const usage = usageOf(filesystems, filesystem);
    return usage === null ? [] : [readingRow(node, filesystem, usage, atMs)];
  });

function readingRow(node: string, filesystem: FilesystemName, usage: FilesystemUsage, atMs: number): DiskRow {
  const used = usedThousandths(usage, usage.availableBytes);
  return { table: 'disks', node, filesystem, span: Math.floor(atMs / SPAN_MS), least: used, most: used };
}

function usageOf(filesystems: FilesystemReadings, name: FilesystemName): FilesystemUsage | null {
  const believed = believeUsage(name, filesystems[name]);
  return believed.kind === 'usage' ? believed.usage : null;
}

function widen(spans: Map<number, DiskRow>, row: DiskRow): void {
  const known = spans.get(row.span) ?? row;
  spans.set(row.span, {
    ...row,
    least: Math.min(known.least, row.least),
    most: Math.max(known.most, row.most),
  });
}

/** A disk that grew holds less now than it did: what was free before may be more than it is large. */
function usedThousandths({ capacityBytes }: FilesystemUsage, availableBytes: bigint): number {
  const used = 1000n - (availableBytes * 1000n) / capacityBytes;
  return Number(used < 0n ? 0n : used > 1000n ? 1000n : used);
}
