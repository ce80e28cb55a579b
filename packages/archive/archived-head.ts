import type { ArchiveHead } from '../../schemas/events/head.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { LogRecord } from '../log/port.ts';
import { parseRecord } from '../records/parse/parse-record.ts';
import { believedHead } from '../records/read-heads.ts';
import type { Trust } from '../records/trust/trust.ts';
import type { ArchivedHead, ManifestLine } from './manifest-entry.ts';

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
