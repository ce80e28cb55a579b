import { FleetGcError } from '../../process/errors.ts';
import { type FileStart, startInName } from '../file-names.ts';
import { isCompacted, type Manifest } from '../manifest.ts';
import type { FoundFiles } from './port.ts';

/**
 * Whether the files that the manifest does not name can be what killed archivers left: whole files of at most so many ranges, each
 * of which comes next in its partition. Throws `ARCHIVE_CHANGED` otherwise: then lines of the manifest were lost.
 */
export function requireLeftovers(name: string, { manifest, unnamed }: FoundFiles, mostRanges: number): void {
  const whole = unnamed.filter((file) => startInName(file) !== null);
  const ranges = new Set(whole.map(rangeText));
  if (ranges.size <= mostRanges && whole.every((file) => isNextFile(file, manifest))) return;
  throw new FleetGcError(
    'ARCHIVE_CHANGED',
    `the archive in ${name} has files that its manifest does not name, such as ${whole.at(-1)}: lines of the manifest were lost. "fleetgc audit archive check --archive ${name}" lists them; bring the manifest back, or begin a new archive in another place`,
  );
}

function rangeText(file: string): string {
  const start = startInName(file);
  return `${start?.topic}/${start?.partition}@${start?.firstOffset}`;
}

/** Whether a file of this name may be the one that comes next in its partition. */
function isNextFile(file: string, manifest: Manifest): boolean {
  const start = startInName(file);
  const last = start === null ? null : lastOffset(start, manifest);
  if (start === null || last === null) return true;
  return isCompacted(start.topic) ? start.firstOffset > last : start.firstOffset === last + 1n;
}

/** Whether the records of a file, from the first on, are in the archive under another name. */
export function isCovered(file: string, manifest: Manifest): boolean {
  const start = startInName(file);
  const last = start === null ? null : lastOffset(start, manifest);
  return start !== null && last !== null && start.firstOffset <= last;
}

function lastOffset(start: FileStart, { entries }: Manifest): bigint | null {
  const end = entries.findLast(
    ({ topic, partition }) => topic === start.topic && partition === start.partition,
  );
  return end === undefined ? null : BigInt(end.lastOffset);
}
