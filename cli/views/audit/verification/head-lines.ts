import type { Found } from '../../../../packages/audit/verify/findings.ts';
import type { ArchiveHeadsSummary, HeadsSummary } from '../../../../packages/audit/verify/heads.ts';
import { counted } from '../../../../packages/text/counted.ts';

/** What heads prove; nothing where nobody asked. */
export const headLines = ({
  heads,
  counts,
}: Pick<Found, 'counts'> & { readonly heads: HeadsSummary | null }): readonly string[] => {
  if (heads === null) return [];
  const { archive, decisionHeads } = heads;
  return [
    '',
    'Heads:',
    ...(archive === null ? [] : [`  ${archiveHeadText(archive)}`]),
    decisionHeads === 0
      ? '  the decisions are without heads: no decision service signed any'
      : `  ${counted(counts.headed, 'record')} of gc.node.decisions as signed, ${counts.withoutHead} that no head names${inPartText(counts)}`,
  ];
};

const inPartText = ({ headedInPart }: Found['counts']): string =>
  headedInPart === 0
    ? ''
    : `, ${headedInPart} that a head names together with others that are not there, so that nobody can compare them`;

const archiveHeadText = ({ lines, provedLines, isComparedWithLog }: ArchiveHeadsSummary): string => {
  if (provedLines === 0) return 'the archive has no head that counts: nothing in it is proved';
  const where = `up to line ${provedLines} of ${lines}`;
  return isComparedWithLog
    ? `the archive is as its archiver signed it, and as the heads on the event log say, ${where}`
    : `the archive is as the heads in it say, ${where}; whether it is the one that was signed shows --heads-of`;
};
