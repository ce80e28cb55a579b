import { type ArchivedCounts, type ArchiveNeeds, archiveLog, type LostRecords } from './archive-log.ts';
import { type ArchiveSources, type ArchiveWriter, openArchiveWriter } from './archive-writer.ts';
import { openDuckDb } from './duckdb.ts';
import { FILE_LIMITS } from './open-ranges.ts';
import { createRecordTable } from './record-table.ts';
import { type HeadSigner, type SignedPass, signPass } from './sign-head.ts';
import type { ArchivePlace } from './store/place.ts';

/** What a run did. */
export interface ArchiveRun extends ArchivedCounts {
  readonly lost: readonly LostRecords[];
  /** The hash of the manifest's last line. */
  readonly head: string;
  /** Whether somebody signed what the archive is now; `null` where nobody was to, or the pass did not come to its end. */
  readonly signed: SignedPass | null;
}

export interface ArchiveRequest
  extends Pick<ArchiveNeeds, 'log' | 'onProgress' | 'onFile' | 'onReached'>,
    ArchiveSources {
  readonly place: ArchivePlace;
  readonly limits?: ArchiveNeeds['limits'];
  /** `null`: nobody signs what the archive is. */
  readonly signer: HeadSigner | null;
}

/** Brings the archive up to the present end of the log. Throws as `openArchiveWriter` and `archiveLog` do. */
export async function archiveTo(
  { place, ...needs }: ArchiveRequest,
  signal: AbortSignal,
): Promise<ArchiveRun> {
  using archive = await openArchiveWriter(place, needs);
  return await archivePass({ ...needs, archive }, signal);
}

/** The same into an archive that is open. */
export async function archivePass(
  { limits = FILE_LIMITS, signer, ...needs }: PassRequest,
  signal: AbortSignal,
): Promise<ArchiveRun> {
  await using duck = openDuckDb();
  using table = createRecordTable(duck);
  const lost: LostRecords[] = [];
  const onLost = (records: LostRecords): void => void lost.push(records);
  const { archive } = needs;
  archive.beginPass(needs.now());
  const counts = await archiveLog({ ...needs, table, limits, onLost }, signal);
  if (signal.aborted) return { ...counts, lost, head: archive.head(), signed: null };
  await archive.endPass();
  const signed = signer && (await signPass(archive, signer, signal));
  return { ...counts, lost, head: archive.head(), signed };
}

export interface PassRequest extends Omit<ArchiveRequest, 'place'> {
  readonly archive: ArchiveWriter;
}
