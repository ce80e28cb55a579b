import type { ArchiveRun, LostRecords } from '../archive/archive-log.ts';
import type { ArchiveFindings } from '../archive/check-archive.ts';
import type { TopicLag } from '../archive/retention-watch.ts';
import type { SignedPass } from '../archive/sign-head.ts';
import { HOUR_MS, MINUTE_MS } from '../process/durations.ts';
import { counted } from '../text/counted.ts';
import { jsonLines } from '../text/json-text.ts';
import { printableLine } from '../text/printable.ts';
import { sizeText } from '../text/size-text.ts';
import { timeText } from '../text/time-text.ts';

/** What `-o json` shows of a run; offsets as text. */
export const runValue = ({ records, files, lost, head, signed }: ArchiveRun) => ({
  records,
  files,
  lost: lost.map((range) => ({
    ...range,
    firstOffset: String(range.firstOffset),
    lastOffset: String(range.lastOffset),
  })),
  head,
  signed,
});

export const runLines = ({ records, files, lost, head, signed }: ArchiveRun): readonly string[] => [
  ...lost.map(lostText),
  records === 0
    ? 'nothing new to archive'
    : `${counted(records, 'record')} archived in ${counted(files, 'file')}`,
  ...(signed === null ? [] : [signedText(signed)]),
  `head of the archive: ${head}`,
];

function signedText(signed: SignedPass): string {
  switch (signed.kind) {
    case 'signed':
      return 'signed';
    case 'unchanged':
      return 'signed before';
    case 'failed':
      return `NOT SIGNED: ${printableLine(signed.why)}`;
  }
}

/** What retention deleted before it was archived. */
export const lostText = ({ topic, partition, firstOffset, lastOffset }: LostRecords): string =>
  `LOST: ${counted(lastOffset - firstOffset + 1n, 'record')} of ${topic}/${partition}, offsets ${firstOffset} to ${lastOffset}`;

export const findingsLines = (findings: ArchiveFindings): readonly string[] => {
  const { deviations, gaps, unfinished, files, records, sizeBytes, head } = findings;
  return [
    ...(deviations.length === 0 ? ['As it was written.'] : []),
    ...deviations.map((deviation) => `DEVIATION: ${printableLine(deviation)}`),
    ...gaps.map(
      ({ topic, partition, firstOffset, lastOffset, notedAtMs }) =>
        `gap: ${topic}/${partition}, offsets ${firstOffset} to ${lastOffset} were deleted from the event log before they were archived (noted ${timeText(notedAtMs)})`,
    ),
    ...unfinished.map((file) => `unfinished: ${printableLine(file)}; "fleetgc audit archive" clears it away`),
    `${counted(records, 'record')} in ${counted(files, 'file')}, ${sizeText(BigInt(sizeBytes))}`,
    `head of the archive: ${head ?? 'none'}`,
  ];
};

/** A line for each finding, and one for all that was counted. */
export const findingsNdjson = ({ deviations, gaps, unfinished, ...counts }: ArchiveFindings): string =>
  jsonLines([
    ...deviations.map((message) => ({ finding: 'deviation', message })),
    ...gaps.map((gap) => ({ finding: 'gap', ...gap })),
    ...unfinished.map((file) => ({ finding: 'unfinished', file })),
    {
      finding: 'summary',
      ...counts,
      deviations: deviations.length,
      gaps: gaps.length,
      unfinished: unfinished.length,
    },
  ]);

const HOURS_REPORTED = 48;

/** `90 min`, `13 h` or `9 d`: as near as a warning needs it. */
function roughly(durationMs: number): string {
  const hours = durationMs / HOUR_MS;
  if (hours < 2) return `${Math.floor(durationMs / MINUTE_MS)} min`;
  return hours < HOURS_REPORTED ? `${Math.floor(hours)} h` : `${Math.floor(hours / 24)} d`;
}

/** That retention may overtake the archive: where, how long is left, and what to do. `null` where nothing is at stake. */
export function retentionText({ topic, lagMs, retentionMs, leftMs }: TopicLag): string | null {
  if (retentionMs === null || leftMs === null) return null;
  const lag = `${topic}: what came in the last ${roughly(lagMs)} may not be archived yet, and the event log keeps it for ${roughly(retentionMs)}`;
  const left = leftMs > 0 ? `${roughly(leftMs)} are left` : 'records may be lost already';
  return `${lag}; ${left}. See what holds the archiver up (its other warnings, its disk, the broker), or keep the topic longer (retention.ms) until it has caught up`;
}
