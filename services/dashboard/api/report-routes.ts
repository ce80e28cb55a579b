import { z } from 'zod';
import type { Cell } from '../../../packages/documents/document.ts';
import { REPORT_FORMS, reportDocument } from '../../../packages/documents/report.ts';
import { DAY_MS } from '../../../packages/process/durations.ts';
import type { Projection } from '../../../packages/read-model/model.ts';
import { makeReport } from '../../../packages/read-model/report.ts';
import { printableLine } from '../../../packages/text/printable.ts';
import type { AuditReport } from '../../../schemas/reports/audit-report.ts';
import {
  type DashboardReport,
  ReportFileForm,
  type ToldReport,
} from '../../../schemas/reports/dashboard-report.ts';
import { type Read, sharingLog } from '../readings.ts';
import { GivenFile } from './answer.ts';
import { type Asked, EpochMs, type Route, route } from './route.ts';

/** @limit Days of one report of the dashboard. */
const MOST_DAYS = 92;

const range = { from: EpochMs, to: EpochMs.nullable().default(null) };

/** From `from` up to and without `to`; `null`: the end. */
interface Range {
  readonly from: number;
  readonly to: number | null;
}

const TOO_MANY = 'too many reports are waited for, by you or by all: try again when one of them is there';

const Leaving = z.literal('1').optional();

const questionOf = ({ from, to }: Range): string => `${from} ${to}`;

/** In a sentence, why no report is made of a time; `null` where one is. */
function objectionTo({ from, to }: Range, nowMs: number): string | null {
  const toMs = to ?? Math.max(nowMs, from);
  if (toMs < from) return 'the time ends before it begins';
  if (toMs - from > MOST_DAYS * DAY_MS)
    return `more than ${MOST_DAYS} days are too long for a page: ask fleetgc audit report`;
  return null;
}

const reading =
  (projection: Projection, { from, to }: Range): Read<AuditReport> =>
  (signal, onProgress) => {
    const { source } = projection;
    return makeReport(
      {
        log: sharingLog(source.from.log),
        range: { fromMs: from, toMs: to },
        nowMs: source.nowMs,
        onProgress,
      },
      signal,
    );
  };

function readReport(given: Range & { readonly leaving?: '1' | undefined }, asked: Asked): DashboardReport {
  const { projection, readings, person } = asked;
  const objection = objectionTo(given, projection.source.nowMs);
  if (objection !== null) return { state: 'failed', problem: objection };
  const question = questionOf(given);
  if (given.leaving !== undefined) {
    readings.reports.leave(question, person);
    return { state: 'failed', problem: 'nobody waits for it any more' };
  }
  const stands = readings.reports.ask(question, { person, read: reading(projection, given) });
  if (stands === null) return { state: 'failed', problem: TOO_MANY };
  return stands.state === 'read' ? { ...stands, value: toldReport(stands.value) } : stands;
}

const toldCell = (cell: Cell): Cell =>
  typeof cell === 'string' ? printableLine(cell) : { name: printableLine(cell.name) };

/** What the HTML of a report has, for a page that shows it in its own way. */
function toldReport(report: AuditReport): ToldReport {
  const { introduction, sections } = reportDocument(report);
  return {
    introduction: introduction.map(printableLine),
    parts: sections.map(({ heading, text, table, bars }) => ({
      heading,
      text: text.map(printableLine),
      table: table && { header: [...table.header], rows: table.rows.map((row) => row.map(toldCell)) },
      bars: bars.map((bar) => ({ ...bar, label: printableLine(bar.label) })),
    })),
  };
}

const FILES: Readonly<Record<ReportFileForm, { readonly type: string; readonly ending: string }>> = {
  markdown: { type: 'text/markdown; charset=utf-8', ending: 'md' },
  html: { type: 'text/html; charset=utf-8', ending: 'html' },
  json: { type: 'application/json; charset=utf-8', ending: 'json' },
  ndjson: { type: 'application/x-ndjson; charset=utf-8', ending: 'ndjson' },
};

function reportFile(given: Range & { readonly form: ReportFileForm }, { readings }: Asked): GivenFile | null {
  const report = readings.reports.known(questionOf(given));
  if (report === null) return null;
  const { type, ending } = FILES[given.form];
  const day = new Date(given.from).toISOString().slice(0, 10);
  const text = REPORT_FORMS[given.form](report);
  return new GivenFile(`fleetgc-report-${day}.${ending}`, type, `${text.trimEnd()}\n`);
}

/** The report of a time: it is made while somebody asks for it, and then there as files. */
export const REPORT_ROUTES: readonly Route[] = [
  route('/api/report', z.strictObject({ ...range, leaving: Leaving }), readReport),
  route('/api/report/file', z.strictObject({ ...range, form: ReportFileForm }), reportFile),
];
