import { durationText } from '../../schemas/policy/value-text.ts';
import type { AuditReport, PulledAgain } from '../../schemas/reports/audit-report.ts';
import type { ReportFileForm } from '../../schemas/reports/dashboard-report.ts';
import type { InventoryTimes } from '../audit/events/reading.ts';
import { removedBecause } from '../decision/rule-text.ts';
import { counted } from '../text/counted.ts';
import { jsonLines, jsonText } from '../text/json-text.ts';
import { sizeText } from '../text/size-text.ts';
import { timeText } from '../text/time-text.ts';
import { freedSumText, holdersText } from './activity.ts';
import { type Document, type Section, section } from './document.ts';
import { documentHtml } from './html.ts';
import { documentMarkdown } from './markdown.ts';
import {
  clusterParts,
  decisionsPart,
  dryRunParts,
  pausesPart,
  plannedText,
  policyChangesPart,
  table,
} from './report-tables.ts';

/** All of it, or the page that turns a dry-run into `enforce`. */
export type WhichParts = 'all' | 'dry-run';

const sectionsOf = (report: AuditReport, which: WhichParts): readonly Section[] =>
  which === 'dry-run' ? dryRunParts(report) : allParts(report);

/** The report for people, in the order in which they ask. */
const allParts = (report: AuditReport): readonly Section[] =>
  report.read.records === 0
    ? [policyChangesPart(report), pausesPart(report)]
    : [
        ...nodeParts(report),
        ...clusterParts(report.clusters),
        policyChangesPart(report),
        pausesPart(report),
        ...(report.read.nodes === 0 ? [] : [decisionsPart('Decisions', report)]),
      ];

/** Nothing where no node said anything. */
const nodeParts = (report: AuditReport): readonly Section[] =>
  report.read.nodes === 0
    ? []
    : [
        freedPart(report),
        removedPart(report),
        ...(report.dryRun.decisions === 0 ? [] : dryRunParts(report)),
        stayedPart(report),
        unrelievedPart(report),
        pulledAgainPart(report),
      ];

function introduction({ range, read, clusters, kept = null }: AuditReport): readonly string[] {
  const from = range.fromMs === null ? 'the first record that is kept' : timeText(range.fromMs);
  const to = range.toMs === null ? 'the end' : timeText(range.toMs);
  const span =
    read.firstMs === null || read.lastMs === null
      ? `No record of any node or cluster lies in that time${keptText(kept)}.`
      : `${counted(read.records, 'record')} of ${subjectsText(read.nodes, clusters.clusters)} read, the first of ${timeText(read.firstMs)}, the last of ${timeText(read.lastMs)}.`;
  const unreadable =
    read.unreadable === 0
      ? []
      : [`${counted(read.unreadable, 'record')} could not be read and are left out.`];
  return [`From ${from} to ${to}. Times are UTC, by the clock of the event log.`, span, ...unreadable];
}

const subjectsText = (nodes: number, clusters: number): string =>
  clusters === 0
    ? counted(nodes, 'node')
    : `${nodes === 0 ? '' : `${counted(nodes, 'node')} and `}${counted(clusters, 'cluster')}`;

function freedPart({ removed, pulledAgain, dryRun, wouldGo }: AuditReport): Section {
  const { spanMs, spans } = removed.bySpan;
  return section('Freed', {
    text: [
      `${counted(removed.objects, 'object')} removed, ${sizeText(BigInt(removed.freedBytes))} freed as the nodes measured it.`,
      ...unmeasuredText(removed),
      ...(pulledAgain.length > 0
        ? [`${counted(pulledAgain.length, 'image')} came back later, see "Removed and pulled again".`]
        : []),
      ...(dryRun.decisions > 0
        ? [
            `${counted(dryRun.objects, 'object')} would have gone while the policy said dry-run${plannedText(wouldGo)}: see "Dry run: what would have gone".`,
          ]
        : []),
    ],
    table: table(
      [`${durationText(spanMs)} from`, 'Objects', 'Freed'],
      spans.map((span) => [timeText(span.startMs), String(span.objects), freedCell(span)]),
    ),
    bars: spans.map((span) => ({
      label: timeText(span.startMs),
      value: Number(span.freedBytes),
      text: freedCell(span),
    })),
  });
}

/** For those who asked for another time; to be put behind a sentence. */
export const keptText = (kept: InventoryTimes | null): string =>
  kept === null
    ? '; there is no inventory at any other time either'
    : `; there are inventories from ${timeText(kept.firstMs)} to ${timeText(kept.lastMs)}`;

type FreedTexts = Pick<AuditReport['removed'], 'freedBytes' | 'unmeasured' | 'estimatedBytes'>;

function unmeasuredText({ unmeasured, estimatedBytes }: FreedTexts): readonly string[] {
  if (unmeasured === 0) return [];
  const estimate =
    estimatedBytes === '0' ? '' : `, which plans had counted with ${sizeText(BigInt(estimatedBytes))}`;
  return [
    `Of ${unmeasured} of them nobody could measure the effect (no reading, or something else filled the disk meanwhile)${estimate}; that is not in the sum.`,
  ];
}

const freedCell = ({ freedBytes, unmeasured, estimatedBytes }: FreedTexts): string =>
  freedSumText({ freedBytes: BigInt(freedBytes), unmeasured, estimatedBytes: BigInt(estimatedBytes) });

const removedPart = ({ removed: { byRule } }: AuditReport): Section =>
  section('Removed, by reason', {
    text: byRule.length === 0 ? ['Nothing was removed.'] : [],
    table: table(
      ['What', 'Why', 'Rule', 'Objects', 'Freed'],
      byRule.map((sum) => [
        sum.kind,
        removedBecause(sum.rule),
        sum.rule,
        String(sum.objects),
        freedCell(sum),
      ]),
    ),
    bars: byRule.map((sum) => ({
      label: `${sum.kind}: ${removedBecause(sum.rule)}`,
      value: Number(sum.freedBytes),
      text: freedCell(sum),
    })),
  });

function stayedPart({ refused, failed, refusedCommands }: AuditReport): Section {
  const rows = [
    ...refused.map(({ kind, reason, objects }) => ['refused', kind, reason, String(objects)]),
    ...failed.map(({ kind, reason, objects }) => ['failed', kind, reason, String(objects)]),
    ...refusedCommands.map(({ reason, commands }) => ['refused', 'whole command', reason, String(commands)]),
  ];
  return section('Refused and failed, by reason', {
    text: rows.length === 0 ? ['Nothing was refused, and nothing failed.'] : [],
    table: table(['How', 'What', 'Reason', 'How many'], rows),
  });
}

const unrelievedPart = ({ unrelieved }: AuditReport): Section =>
  section('Nodes that could not be relieved', {
    text:
      unrelieved.length === 0
        ? ['No reclaim ended above its target.']
        : ['After these reclaims nothing more could go. What holds the space is as of the last one.'],
    table: table(
      ['Node', 'Times', 'Last', 'Signal', 'Held by'],
      unrelieved.map(({ cluster, node, reclaims, lastAtMs, signal, holders }) => [
        { name: `${cluster}/${node}` },
        String(reclaims),
        timeText(lastAtMs),
        signal,
        holdersText(holders),
      ]),
    ),
  });

const pulledAgainPart = ({ pulledAgain }: AuditReport): Section =>
  section('Removed and pulled again', {
    text:
      pulledAgain.length === 0
        ? ['No removed image came back in this time.']
        : [
            `${counted(pulledAgain.length, 'image')}, ${sizeText(sizesOf(pulledAgain))} as listed. An image that comes back soon was removed for nothing: a higher minimum age or a keep rule may be better.`,
          ],
    table: table(
      ['Image', 'Node', 'Size', 'Why', 'Removed', 'Back within'],
      pulledAgain.map(({ name, cluster, node, sizeBytes, rule, removedAtMs, seenAgainAtMs }) => [
        { name },
        { name: `${cluster}/${node}` },
        sizeBytes === null ? 'unknown' : sizeText(BigInt(sizeBytes)),
        removedBecause(rule),
        timeText(removedAtMs),
        durationText(Math.max(0, Math.ceil((seenAgainAtMs - removedAtMs) / 1_000)) * 1_000),
      ]),
    ),
  });

const sizesOf = (images: readonly PulledAgain[]): bigint =>
  images.reduce((sum, { sizeBytes }) => sum + BigInt(sizeBytes ?? 0), 0n);

export const reportDocument = (report: AuditReport, which: WhichParts = 'all'): Document => ({
  title: 'FleetGC report',
  introduction: introduction(report),
  sections: sectionsOf(report, which),
});

/** A line for each entry of each list, told apart by `part`, and one for the rest. */
function reportNdjson(report: AuditReport): string {
  const members = Object.entries(report);
  const lists = members.flatMap(([part, value]): readonly object[] =>
    Array.isArray(value) ? value.map((entry: object) => ({ part, ...entry })) : [],
  );
  const rest = Object.fromEntries(members.filter(([, value]) => !Array.isArray(value)));
  return jsonLines([...lists, { part: 'summary', ...rest }]);
}

/** A report in the forms in which it can be kept. */
export const REPORT_FORMS = {
  markdown: (report: AuditReport, which?: WhichParts) => documentMarkdown(reportDocument(report, which)),
  html: (report: AuditReport, which?: WhichParts) => documentHtml(reportDocument(report, which)),
  json: (report: AuditReport) => jsonText(report),
  ndjson: reportNdjson,
} satisfies Readonly<Record<ReportFileForm, (report: AuditReport, which?: WhichParts) => string>>;
