import type { LogRecord } from '../../../../packages/event-log/port.ts';
import { parseRecord } from '../../../../packages/pipeline/parse/parse-record.ts';
import { counted } from '../../../../packages/text/counted.ts';
import { timeText } from '../../../../packages/text/time-text.ts';
import type { Trust } from '../../../../packages/trust/trust.ts';
import type { ArchiveHead } from '../../../../schemas/events/head.ts';
import { TOPICS, type TopicName } from '../../../../schemas/events/topics.ts';
import { lineText } from '../../archive/manifest.ts';
import { type ArchivedHead, lineSum, type ManifestLine } from '../../archive/manifest-entry.ts';
import type { Place } from '../../events/log-position.ts';
import type { Deviation } from '../findings.ts';
import { type BelievedHead, believedHead } from './read-heads.ts';

export interface ArchiveHeadsCheck {
  readonly lines: readonly ManifestLine[];
  /** What lies on `gc.heads`, in the archive and on the log that still lives, as far as anybody believes it. */
  readonly heads: readonly BelievedHead[];
  readonly trust: Trust;
}

/** What signed heads say of an archive. */
export interface ArchiveHeadsFound {
  readonly deviations: readonly Deviation[];
  /** Lines of the manifest that the newest head which is right speaks of; 0 where there is none. */
  readonly provedLines: number;
}

/** Compares an archive with all that its archiver has ever signed of it. */
export function checkArchiveHeads({ lines, heads, trust }: ArchiveHeadsCheck): ArchiveHeadsFound {
  const archive = lines[0]?.hash;
  const ofLog = heads.flatMap(({ event }) => (event.type === 'fleetgc.archive-head' ? [event] : []));
  const own = ofLog.filter((event) => event.archive === archive);
  const inArchive = [...headsIn(lines, heads, trust)];
  const told = inArchive.flatMap(({ deviation }) => deviation ?? []);
  const believed = [...own, ...inArchive.flatMap(({ event }) => event ?? [])];
  const sorted = believed.toSorted((a, b) => a.lines - b.lines);
  const wrong = sorted.find((event) => !isCut(event, lines) && !agrees(event, lines));
  const cut = sorted.findLast((event) => isCut(event, lines));
  const right = sorted.findLast((event) => !isCut(event, lines) && agrees(event, lines));
  return {
    deviations: [
      ...told,
      ...(wrong === undefined ? [] : [rewritten(wrong, lines)]),
      ...(cut === undefined ? [] : [cutTail(cut, lines)]),
    ],
    provedLines: right?.lines ?? 0,
  };
}

const isCut = (event: ArchiveHead, lines: readonly ManifestLine[]): boolean => event.lines > lines.length;
const agrees = (event: ArchiveHead, lines: readonly ManifestLine[]): boolean =>
  lines[event.lines - 1]?.hash === event.hash;

interface HeadInArchive {
  readonly event?: ArchiveHead;
  readonly deviation?: Deviation;
}

/** Each has to speak of the lines before it. Its copy on `gc.heads` tells when it was signed; the last one has none yet. */
function* headsIn(
  lines: readonly ManifestLine[],
  heads: readonly BelievedHead[],
  trust: Trust,
): Iterable<HeadInArchive> {
  const takenAtMs = new Map(
    heads.map(({ record }) => [record.headers.ce_fleetgcsignature, record.timestampMs] as const),
  );
  for (const [at, line] of lines.entries()) {
    if (line.kind !== 'head') continue;
    const record = recordOf(line, at, takenAtMs.get(line.headers.ce_fleetgcsignature));
    const event = believedHead(trust, record)?.event ?? null;
    if (event?.type !== 'fleetgc.archive-head') yield { deviation: notBelieved(at) };
    else if (event.archive !== lines[0]?.hash || event.lines !== at) yield { deviation: strange(at) };
    else yield { event };
  }
}

function recordOf({ key, headers, valueBase64 }: ArchivedHead, at: number, takenAtMs = 0): LogRecord {
  const value = Buffer.from(valueBase64, 'base64');
  const record = { topic: TOPICS.heads.name, partition: 0, offset: BigInt(at), key, headers, value };
  const parsed = parseRecord('heads', { ...record, timestampMs: takenAtMs });
  const isHead = parsed.ok && parsed.event.type === 'fleetgc.archive-head';
  return { ...record, timestampMs: takenAtMs || (isHead ? parsed.event.signedAtMs : 0) };
}

const notBelieved = (at: number): Deviation => ({
  kind: 'not-trusted',
  message: `line ${at + 1} of the manifest is a head that no key of an archiver of this fleet signed`,
  node: null,
  places: [],
});

const strange = (at: number): Deviation => ({
  kind: 'archive-rewritten',
  message: `line ${at + 1} of the manifest is a head of another archive, or of another place in this one`,
  node: null,
  places: [],
});

const signedText = ({ lines, signedAtMs }: ArchiveHead): string =>
  `the head that was signed at ${timeText(signedAtMs)} over ${counted(lines, 'line')}`;

function cutTail(event: ArchiveHead, lines: readonly ManifestLine[]): Deviation {
  const missing = event.lines - lines.length;
  const last = lines.findLast((line) => line.kind === 'file');
  return {
    kind: 'archive-cut',
    message: `the last ${counted(missing, 'line')} of the manifest, and the files that they name, are not there: ${signedText(event)} says that there were ${event.lines}. What is left ends with ${last === undefined ? 'its beginning' : lineText(last)}`,
    node: null,
    places: placesOf(last),
  };
}

/** The first line that is not what it was: those after it have other hashes in any case. */
function rewritten(event: ArchiveHead, lines: readonly ManifestLine[]): Deviation {
  const at = event.sums.findIndex((sum, index) => {
    const line = lines[event.fromLine + index];
    return line === undefined || lineSum(line) !== sum;
  });
  const changed = at < 0 ? undefined : lines[event.fromLine + at];
  const where =
    changed === undefined
      ? `it was changed before line ${event.fromLine + 1} of its manifest`
      : `it was changed at line ${event.fromLine + at + 1} of its manifest, where now is ${lineText(changed)}`;
  return {
    kind: 'archive-rewritten',
    message: `the archive is not what ${signedText(event)} says: ${where}`,
    node: null,
    places: placesOf(changed),
  };
}

function placesOf(line: ManifestLine | undefined): readonly Place[] {
  if (line?.kind !== 'file') return [];
  const { topic, partition, firstOffset, lastOffset, oldestMs, lastMs } = line;
  const name = nameOf(topic);
  if (name === undefined) return [];
  return [
    { topic: name, partition, offset: firstOffset, timestampMs: oldestMs },
    { topic: name, partition, offset: lastOffset, timestampMs: lastMs },
  ];
}

const nameOf = (topic: string): TopicName | undefined =>
  Object.values(TOPICS).find(({ name }) => name === topic)?.name;
