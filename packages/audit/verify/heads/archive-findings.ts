import type { ArchiveHead } from '../../../../schemas/events/head.ts';
import { TOPICS, type TopicName } from '../../../../schemas/events/topics.ts';
import { lineSum, lineText, type ManifestLine } from '../../../archive/manifest.ts';

import { counted } from '../../../text/counted.ts';
import { timeText } from '../../../text/time-text.ts';
import type { Place } from '../../events/log-position.ts';
import type { Deviation, Gap } from '../findings.ts';

export const notBelieved = (at: number): Deviation => ({
  kind: 'not-trusted',
  message: `line ${at + 1} of the manifest is a head that no key of an archiver of this fleet signed`,
  node: null,
  places: [],
});

export const strange = (at: number): Deviation => ({
  kind: 'archive-rewritten',
  message: `line ${at + 1} of the manifest is a head of another archive, or of another place in this one`,
  node: null,
  places: [],
});

/** `at`: the lines, from 0 on. */
export const neverOnLog = (at: readonly number[]): Deviation => ({
  kind: 'archive-rewritten',
  message: `${counted(at.length, 'head')} in the manifest (the first is line ${(at[0] ?? 0) + 1}) ${at.length === 1 ? 'is' : 'are'} not on gc.heads, where a head goes before it goes into the archive: somebody put ${at.length === 1 ? 'it' : 'them'} in, took heads from the event log, or this is another event log`,
  node: null,
  places: [],
});

export const unknown = (other: ArchiveHead | null): Gap => ({
  kind: 'archive-unknown',
  message: `the event log has no head of this archive${otherText(other)}`,
  node: null,
  places: [],
});

const otherText = (other: ArchiveHead | null): string =>
  other === null
    ? ': its archiver signed nothing, or this is another event log'
    : ` and heads of another: if this one was ever signed, somebody made it anew since. Last signed was an archive of ${counted(other.lines, 'line')} with the head ${other.hash}, at ${timeText(other.signedAtMs)}`;

const signedText = ({ lines, signedAtMs }: ArchiveHead): string =>
  `the head that was signed at ${timeText(signedAtMs)} over ${counted(lines, 'line')}`;

export function cutTail(event: ArchiveHead, lines: readonly ManifestLine[]): Deviation {
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
export function rewritten(event: ArchiveHead, lines: readonly ManifestLine[]): Deviation {
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
