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

/** What signed heads say of an archive. */
export interface ArchiveHeadsFound {
  readonly deviations: readonly Deviation[];
  /** Lines of the manifest that the newest head which is right speaks of; 0 where there is none. */
  readonly provedLines: number;
}

/** Compares an archive with all that its archiver has ever signed of it: heads of the log first, then those in the archive. */
export class ArchiveHeadsCheck {
  readonly #lines: readonly ManifestLine[];
  /** When the log took heads, by their signatures. */
  readonly #takenAtMs = new Map<string, number>();
  readonly #told: Deviation[] = [];
  /** The one that reaches least far of those that are wrong, and farthest of the others. */
  #wrong: ArchiveHead | null = null;
  #cut: ArchiveHead | null = null;
  #right: ArchiveHead | null = null;

  constructor(lines: readonly ManifestLine[]) {
    this.#lines = lines;
  }

  /** A head of a log; those of other archives say nothing of this one. */
  take({ event, record }: BelievedHead): void {
    if (event.type !== 'fleetgc.archive-head' || event.archive !== this.#lines[0]?.hash) return;
    this.#takenAtMs.set(record.headers.ce_fleetgcsignature ?? '', record.timestampMs);
    this.#compare(event);
  }

  /** Each head in the archive has to speak of the lines before it. The last one has no copy on `gc.heads` in the archive yet. */
  finish(trust: Trust): ArchiveHeadsFound {
    for (const [at, line] of this.#lines.entries()) if (line.kind === 'head') this.#takeOwn(line, at, trust);
    return {
      deviations: [
        ...this.#told,
        ...(this.#wrong === null ? [] : [rewritten(this.#wrong, this.#lines)]),
        ...(this.#cut === null ? [] : [cutTail(this.#cut, this.#lines)]),
      ],
      provedLines: this.#right?.lines ?? 0,
    };
  }

  #takeOwn(line: ArchivedHead, at: number, trust: Trust): void {
    const record = recordOf(line, at, this.#takenAtMs.get(line.headers.ce_fleetgcsignature ?? ''));
    const event = believedHead(trust, record)?.event ?? null;
    if (event?.type !== 'fleetgc.archive-head') this.#told.push(notBelieved(at));
    else if (event.archive !== this.#lines[0]?.hash || event.lines !== at) this.#told.push(strange(at));
    else this.#compare(event);
  }

  #compare(event: ArchiveHead): void {
    if (isCut(event, this.#lines)) this.#cut = farther(this.#cut, event);
    else if (agrees(event, this.#lines)) this.#right = farther(this.#right, event);
    else this.#wrong = this.#wrong !== null && this.#wrong.lines <= event.lines ? this.#wrong : event;
  }
}

const farther = (one: ArchiveHead | null, other: ArchiveHead): ArchiveHead =>
  one !== null && one.lines >= other.lines ? one : other;

const isCut = (event: ArchiveHead, lines: readonly ManifestLine[]): boolean => event.lines > lines.length;
const agrees = (event: ArchiveHead, lines: readonly ManifestLine[]): boolean =>
  lines[event.lines - 1]?.hash === event.hash;

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
    message: `the last ${counted(missing, 'line')} of the manifest, and the files that they name, are not there: ${signedText(event)} names them. What is left ends with ${last === undefined ? 'its beginning' : lineText(last)}`,
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
