import type { AuditReport, Moment, Pause } from '../../../schemas/audit-report.ts';
import { selectorText } from '../../policy/selector-text.ts';
import { timeText } from '../../shared/time-text.ts';
import { type Cell, type ReportPart, table } from './report-part.ts';

export const policyChangesPart = ({ policyChanges, policyDeletions }: AuditReport): ReportPart => ({
  heading: 'Policy changes',
  text: policyChanges.length + policyDeletions.length === 0 ? ['No policy was applied or deleted.'] : [],
  table: table(
    ['When', 'What', 'Policy', 'Version', 'Mode', 'Hash'],
    [...policyChanges.map(appliedRow), ...policyDeletions.map(deletedRow)]
      .toSorted((a, b) => a.atMs - b.atMs)
      .map(({ cells }) => cells),
  ),
  bars: [],
});

interface Row {
  readonly atMs: number;
  readonly cells: readonly Cell[];
}

const appliedRow = ({
  atMs,
  name,
  policyVersion,
  mode,
  hash,
}: AuditReport['policyChanges'][number]): Row => ({
  atMs,
  cells: [timeText(atMs), 'applied', { name }, String(policyVersion), mode, { name: hash.slice(0, 12) }],
});

const deletedRow = ({ name, deleted }: AuditReport['policyDeletions'][number]): Row => ({
  atMs: deleted.atMs,
  cells: [momentText(deleted), 'deleted', { name }, '', '', ''],
});

export const pausesPart = ({ pauses }: AuditReport): ReportPart => ({
  heading: 'Pauses',
  text: [
    ...(pauses.length === 0 ? ['Nothing was paused.'] : []),
    ...(pauses.some(isAbout)
      ? [
          '"By" is when the first decision was made that knew of it; the record itself is not on the log any more.',
        ]
      : []),
  ],
  table: table(['From', 'To', 'Nodes', 'Reason'], pauses.map(pauseCells)),
  bars: [],
});

const pauseCells = ({ selector, reason, begun, ended }: Pause): readonly Cell[] => [
  begun === null ? 'before' : momentText(begun),
  ended === null ? 'still holds' : momentText(ended),
  selector === null ? UNKNOWN : { name: selectorText(selector) },
  reasonCell(reason),
];

const UNKNOWN = 'not known any more';

const reasonCell = (reason: string | null): Cell => {
  if (reason === null) return UNKNOWN;
  return reason === '' ? 'none given' : { name: reason };
};

const isAbout = ({ begun, ended }: Pause): boolean => begun?.exact === false || ended?.exact === false;

const momentText = ({ atMs, exact }: Moment): string => (exact ? timeText(atMs) : `by ${timeText(atMs)}`);
