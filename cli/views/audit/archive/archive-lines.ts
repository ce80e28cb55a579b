import type { ArchiveRun, LostRecords } from '../../../../packages/archive/archive-log.ts';

import type { ArchiveFindings } from '../../../../packages/archive/check-archive.ts';
import type { SignedPass } from '../../../../packages/archive/sign-head.ts';
import { counted } from '../../../../packages/text/counted.ts';
import { printableLine } from '../../../../packages/text/printable.ts';
import { sizeText } from '../../../../packages/text/size-text.ts';
import { timeText } from '../../../../packages/text/time-text.ts';
import { jsonLine } from '../../../framework/printable-documents.ts';

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
  [
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
  ]
    .map((line) => `${jsonLine(line)}\n`)
    .join('');
