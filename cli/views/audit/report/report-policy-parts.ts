import { selectorText } from '../../../../packages/policy/selector-text.ts';
import { shortHash } from '../../../../packages/text/short-hash.ts';
import { timeText } from '../../../../packages/text/time-text.ts';
import type { AuditReport, Moment, Pause } from '../../../../schemas/reports/audit-report.ts';
import { type Cell, type ReportPart, table } from './report-part.ts';

const NOT_KNOWN = 'Not known: there is no record of that time.';

/** What the log does not reach to nobody knows, also not that nothing happened. */
const isUnknown = ({ range: { fromMs, toMs }, read, kept = null }: AuditReport): boolean =>
  read.records === 0 &&
  (kept === null || (toMs !== null && toMs <= kept.firstMs) || (fromMs !== null && fromMs > kept.lastMs));

const nothingText = (report: AuditReport, nothing: string): string =>
  isUnknown(report) ? NOT_KNOWN : nothing;

export const policyChangesPart = (report: AuditReport): ReportPart => ({
  heading: 'Policy changes',
  text:
    report.policyChanges.length + report.policyDeletions.length === 0
      ? [nothingText(report, 'No policy was applied or deleted.')]
      : [],
  table: table(
    ['When', 'What', 'Policy', 'Version', 'Mode', 'Hash'],
    [...report.policyChanges.map(appliedRow), ...report.policyDeletions.map(deletedRow)]
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
  cells: [timeText(atMs), 'applied', { name }, String(policyVersion), mode, { name: shortHash(hash) }],
});

const deletedRow = ({ name, deleted }: AuditReport['policyDeletions'][number]): Row => ({
  atMs: deleted.atMs,
  cells: [momentText(deleted), 'deleted', { name }, '', '', ''],
});

export const pausesPart = (report: AuditReport): ReportPart => ({
  heading: 'Pauses',
  text: [
    ...(report.pauses.length === 0 ? [nothingText(report, 'Nothing was paused.')] : []),
    ...(report.pauses.some(isAbout)
      ? [
          '"By" is when the first decision was made that knew of it; the record itself is not on the event log any more.',
        ]
      : []),
  ],
  table: table(['From', 'To', 'Nodes', 'Who', 'Reason'], report.pauses.map(pauseCells)),
  bars: [],
});

const pauseCells = ({ selector, reason, by, begun, ended }: Pause): readonly Cell[] => [
  begun === null ? 'before' : momentText(begun),
  ended === null ? 'still holds' : momentText(ended),
  selector === null ? UNKNOWN : { name: selectorText(selector) },
  saidCell(by),
  saidCell(reason),
];

const UNKNOWN = 'not known any more';

const saidCell = (text: string | null): Cell => {
  if (text === null) return UNKNOWN;
  return text === '' ? 'none given' : { name: text };
};

const isAbout = ({ begun, ended }: Pause): boolean => begun?.exact === false || ended?.exact === false;

const momentText = ({ atMs, exact }: Moment): string => (exact ? timeText(atMs) : `by ${timeText(atMs)}`);
