import { type ArchiveHead, MOST_SUMS } from '../../schemas/events/head.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { LogRecord } from '../log/port.ts';
import { parseRecord } from '../records/parse/parse-record.ts';
import { believedHead } from '../records/read-heads.ts';
import type { Trust } from '../records/trust/trust.ts';
import { type ArchivedHead, lineSum, type ManifestLine } from './manifest.ts';

export const isOfArchive = (event: ArchiveHead, lines: readonly ManifestLine[]): boolean =>
  event.archive === lines[0]?.hash;

/** What the lines are by a head of their archive. */
export function standingOf(event: ArchiveHead, lines: readonly ManifestLine[]): 'cut' | 'right' | 'wrong' {
  if (event.lines > lines.length) return 'cut';
  return lines[event.lines - 1]?.hash === event.hash ? 'right' : 'wrong';
}

/** What a line of the manifest says as a head that is believed. */
export function archivedHead(
  line: ManifestLine | ArchivedHead | undefined,
  at: number,
  trust: Trust,
  takenAtMs?: number,
): ArchiveHead | null {
  if (line?.kind !== 'head') return null;
  const event = believedHead(trust, recordOf(line, at, takenAtMs))?.event;
  return event?.type === 'fleetgc.archive-head' ? event : null;
}

function recordOf({ key, headers, valueBase64 }: ArchivedHead, at: number, takenAtMs = 0): LogRecord {
  const value = Buffer.from(valueBase64, 'base64');
  const record = { topic: TOPICS.heads.name, partition: 0, offset: BigInt(at), key, headers, value };
  const parsed = parseRecord('heads', { ...record, timestampMs: takenAtMs });
  const isHead = parsed.ok && parsed.event.type === 'fleetgc.archive-head';
  return { ...record, timestampMs: takenAtMs || (isHead ? parsed.event.signedAtMs : 0) };
}

/** What the archiver signs. */
export type UnsignedHead = Pick<ArchiveHead, 'archive' | 'lines' | 'hash' | 'fromLine' | 'sums'>;

/** A head makes a record of `gc.heads`, which is archived too: that alone is no reason to sign again. */
export function unsignedHead(lines: readonly ManifestLine[]): UnsignedHead | null {
  const fromLine = lines.findLastIndex(({ kind }) => kind === 'head') + 1;
  const news = lines.slice(fromLine);
  const [first, last] = [lines[0], lines.at(-1)];
  if (first === undefined || last === undefined || !news.some(isToBeSigned)) return null;
  const shown = news.slice(-MOST_SUMS);
  return {
    archive: first.hash,
    lines: lines.length,
    hash: last.hash,
    fromLine: lines.length - shown.length,
    sums: shown.map(lineSum),
  };
}

/** Whether a line alone is reason to sign. */
export const isToBeSigned = (line: ManifestLine): boolean =>
  line.kind !== 'head' && (line.kind !== 'file' || line.topic !== TOPICS.heads.name);
