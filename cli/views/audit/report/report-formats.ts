import { printableLine } from '../../../../packages/text/printable.ts';
import type { AuditReport } from '../../../../schemas/reports/audit-report.ts';
import { jsonLine } from '../../../framework/printable-documents.ts';
import type { Cell, ReportPart, Table } from './report-part.ts';
import { introduction, reportParts, type WhichParts } from './report-parts.ts';

export const reportMarkdown = (report: AuditReport, which: WhichParts = 'all'): string =>
  ['# FleetGC report', paragraph(introduction(report)), ...reportParts(report, which).map(partMarkdown)].join(
    '\n\n',
  );

const partMarkdown = ({ heading, text, table }: ReportPart): string =>
  [`## ${heading}`, paragraph(text), table === null ? '' : tableMarkdown(table)]
    .filter((block) => block !== '')
    .join('\n\n');

const paragraph = (sentences: readonly string[]): string => printableLine(sentences.join(' '));

const tableMarkdown = ({ header, rows }: Table): string =>
  [header, header.map(() => '---'), ...rows.map((cells) => cells.map(cellMarkdown))].map(row).join('\n');

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

const MARKUP = /[\\`*_<>[\]|]/g;

/** Names come from elsewhere: in a code span nothing of them is markup but its end, and that of the cell. */
function cellMarkdown(cell: Cell): string {
  if (typeof cell === 'string') return printableLine(cell).replace(MARKUP, '\\$&');
  return `\`${printableLine(cell.name).replaceAll('`', "'").replaceAll('|', '\\|')}\``;
}

/** A line for each entry of each list, told apart by `part`, and one for the rest. */
export function reportNdjson(report: AuditReport): string {
  const members = Object.entries(report);
  const lists = members.flatMap(([part, value]): readonly object[] =>
    Array.isArray(value) ? value.map((entry: object) => ({ part, ...entry })) : [],
  );
  const rest = Object.fromEntries(members.filter(([, value]) => !Array.isArray(value)));
  return [...lists, { part: 'summary', ...rest }].map((line) => jsonLine(line)).join('\n');
}
