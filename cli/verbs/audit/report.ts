import { z } from 'zod';
import { DAY_MS } from '../../../packages/process/durations.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { withMeta } from '../../../packages/process/options/options.ts';
import { makeReport } from '../../../packages/read-model/report.ts';
import type { TimeRange } from '../../../packages/records/read-log.ts';
import type { AuditReport } from '../../../schemas/reports/audit-report.ts';
import { openAuditLog } from '../../framework/audit-log.ts';
import { formatOption, jsonText, yamlText } from '../../framework/output.ts';
import { defineVerb } from '../../framework/verb.ts';
import { auditLogOptions } from '../../options/archive-options.ts';
import {
  LongDuration,
  type PointInTime,
  type PointLookup,
  rangeOptionsWith,
  timeRange,
} from '../../options/time-options.ts';
import { keptText, readingProgress } from '../../views/audit-text.ts';
import { reportHtml, reportMarkdown, reportNdjson, type WhichParts } from '../../views/report.ts';

const WEEK_MS = 7 * DAY_MS;

export const verb = defineVerb({
  help: [
    'Sums up a week of the event log, or another period: what was freed, as the nodes measured it; what was removed and refused, and why; which nodes could not be relieved, and what holds their space; which images were removed and pulled again; which policies were applied and deleted; what was paused; and what policies in dry-run would have removed, each object once (--part dry-run shows that page alone). markdown and html are for people; html is one file with plots and without scripts. json says the same for machines (schemas/generated/audit-report.schema.json).',
    'Of clusters it tells what was deleted, by kind, collector and rule; what was held, refused and failed; what policies in dry-run would have deleted; and which approvals were given.',
    'Exit codes: 0 a report was made, 3 the event log has no record from that time.',
  ],
  examples: [
    'fleetgc audit report',
    'fleetgc audit report --period 24h -o json',
    'fleetgc audit report --part dry-run',
    'fleetgc audit report --from 2026-01-01 --to 2026-02-01 -o html > january.html',
  ],
  options: z.object({
    period: withMeta(LongDuration.optional(), {
      commandLineOnly: true,
      placeholder: 'DURATION',
      description: 'How long a time to report, up to now or --to. Default: 7d, unless --from is given.',
    }),
    ...rangeOptionsWith({ from: 'as --period says' }),
    output: formatOption(
      ['markdown', 'html', 'json', 'yaml', 'ndjson'],
      'markdown or html for people, html with plots; json or yaml for everything there is to say; ndjson for an entry a line.',
    ),
    part: withMeta(z.enum(['all', 'dry-run']).prefault('all'), {
      commandLineOnly: true,
      description:
        'dry-run: only the page about what policies in dry-run would have removed, in markdown or html; json and ndjson have it all.',
    }),
    ...auditLogOptions,
  }),
  run: async ({ period, from, to, output, part, ...options }, context) => {
    const { logger, progress, signal } = context;
    requireOneBeginning({ period, from });
    await using log = await openAuditLog(options, context);
    const nowMs = Date.now();
    const range = await reportedRange({ period, from, to }, { log, nowMs, signal });
    const onProgress = readingProgress(progress);
    const report = await makeReport({ log, range, nowMs, onProgress }, signal);
    await context.write(`${FORMS[output](report, part).trimEnd()}\n`);
    if (report.read.unreadable > 0)
      logger.warn(`${report.read.unreadable} records could not be read, and are left out`);
    if (report.read.records === 0)
      throw new FleetGcError(
        'AUDIT_INCOMPLETE',
        `there is nothing to report: no record of any node or cluster lies in that time${keptText(report.kept ?? null)}`,
      );
  },
});

type Form = (report: AuditReport, which: WhichParts) => string;

const FORMS: Readonly<Record<'markdown' | 'html' | 'json' | 'yaml' | 'ndjson', Form>> = {
  markdown: reportMarkdown,
  html: reportHtml,
  json: jsonText,
  yaml: (report) => yamlText(report),
  ndjson: reportNdjson,
};

interface Given {
  readonly period: number | undefined;
  readonly from: PointInTime | undefined;
  readonly to: PointInTime | undefined;
}

/** Throws `USAGE`. */
function requireOneBeginning({ period, from }: Pick<Given, 'period' | 'from'>): void {
  if (from !== undefined && period !== undefined)
    throw new FleetGcError('USAGE', 'give either --period or --from');
}

/** The end is open where nobody gave one: the log's clock may be ahead of ours. */
async function reportedRange({ period, from, to }: Given, lookup: PointLookup): Promise<TimeRange> {
  const given = await timeRange({ from, to }, lookup);
  if (given.fromMs !== null) return given;
  return { ...given, fromMs: Math.max(0, (given.toMs ?? lookup.nowMs) - (period ?? WEEK_MS)) };
}
