import { printableLine } from '../../packages/text/printable.ts';
import type { AuditReport } from '../../schemas/reports/audit-report.ts';
import type { ReportFileForm, ToldReport } from '../../schemas/reports/dashboard-report.ts';
import { jsonText } from '../framework/output.ts';
import { toldLife } from './explanation.ts';
import { introduction, reportHtml, reportMarkdown, reportNdjson, reportParts } from './report.ts';
import type { Cell } from './report-tables.ts';

const toldCell = (cell: Cell): Cell =>
  typeof cell === 'string' ? printableLine(cell) : { name: printableLine(cell.name) };

/** What the HTML of a report has, for a page that shows it in its own way. */
const toldReport = (report: AuditReport): ToldReport => ({
  introduction: introduction(report).map(printableLine),
  parts: reportParts(report, 'all').map(({ heading, text, table, bars }) => ({
    heading,
    text: text.map(printableLine),
    table: table && { header: [...table.header], rows: table.rows.map((row) => row.map(toldCell)) },
    bars: bars.map(({ label, value, text: told }) => ({ label: printableLine(label), value, text: told })),
  })),
});

const reportFiles: Readonly<Record<ReportFileForm, (report: AuditReport) => string>> = {
  markdown: reportMarkdown,
  html: reportHtml,
  json: jsonText,
  ndjson: reportNdjson,
};

/** The words of the verbs, for the dashboard: it has no others. */
export const DASHBOARD_WORDING = { report: toldReport, reportFiles, life: toldLife };
