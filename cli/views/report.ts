import { removedBecause } from '../../packages/decision/rule-text.ts';
import { counted } from '../../packages/text/counted.ts';
import { printableLine } from '../../packages/text/printable.ts';
import { sizeText } from '../../packages/text/size-text.ts';
import { timeText } from '../../packages/text/time-text.ts';
import { durationText } from '../../schemas/policy/value-text.ts';
import type { AuditReport, PulledAgain } from '../../schemas/reports/audit-report.ts';
import { jsonLine } from '../framework/output.ts';
import { freedSumText, holdersText } from './activity.ts';
import { keptText } from './audit-text.ts';
import {
  type Bar,
  type Cell,
  clusterParts,
  dryRunParts,
  pausesPart,
  plannedText,
  policyChangesPart,
  type ReportPart,
  type Table,
  table,
} from './report-tables.ts';

/** All of it, or the page that turns a dry-run into `enforce`. */
export type WhichParts = 'all' | 'dry-run';

export const reportParts = (report: AuditReport, which: WhichParts): readonly ReportPart[] =>
  which === 'dry-run' ? dryRunParts(report) : allParts(report);

/** The report for people, in the order in which they ask. */
const allParts = (report: AuditReport): readonly ReportPart[] =>
  report.read.records === 0
    ? [policyChangesPart(report), pausesPart(report)]
    : [
        ...nodeParts(report),
        ...clusterParts(report.clusters),
        policyChangesPart(report),
        pausesPart(report),
        ...(report.read.nodes === 0 ? [] : [decisionsPart(report)]),
      ];

/** Nothing where no node said anything. */
const nodeParts = (report: AuditReport): readonly ReportPart[] =>
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

export function introduction({ range, read, clusters, kept = null }: AuditReport): readonly string[] {
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

function freedPart({ removed, pulledAgain, dryRun, wouldGo }: AuditReport): ReportPart {
  const { spanMs, spans } = removed.bySpan;
  return {
    heading: 'Freed',
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
  };
}

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

const removedPart = ({ removed: { byRule } }: AuditReport): ReportPart => ({
  heading: 'Removed, by reason',
  text: byRule.length === 0 ? ['Nothing was removed.'] : [],
  table: table(
    ['What', 'Why', 'Rule', 'Objects', 'Freed'],
    byRule.map((sum) => [sum.kind, removedBecause(sum.rule), sum.rule, String(sum.objects), freedCell(sum)]),
  ),
  bars: byRule.map((sum) => ({
    label: `${sum.kind}: ${removedBecause(sum.rule)}`,
    value: Number(sum.freedBytes),
    text: freedCell(sum),
  })),
});

function stayedPart({ refused, failed, refusedCommands }: AuditReport): ReportPart {
  const rows = [
    ...refused.map(({ kind, reason, objects }) => ['refused', kind, reason, String(objects)]),
    ...failed.map(({ kind, reason, objects }) => ['failed', kind, reason, String(objects)]),
    ...refusedCommands.map(({ reason, commands }) => ['refused', 'whole command', reason, String(commands)]),
  ];
  return {
    heading: 'Refused and failed, by reason',
    text: rows.length === 0 ? ['Nothing was refused, and nothing failed.'] : [],
    table: table(['How', 'What', 'Reason', 'How many'], rows),
    bars: [],
  };
}

const unrelievedPart = ({ unrelieved }: AuditReport): ReportPart => ({
  heading: 'Nodes that could not be relieved',
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
  bars: [],
});

const pulledAgainPart = ({ pulledAgain }: AuditReport): ReportPart => ({
  heading: 'Removed and pulled again',
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
  bars: [],
});

const sizesOf = (images: readonly PulledAgain[]): bigint =>
  images.reduce((sum, { sizeBytes }) => sum + BigInt(sizeBytes ?? 0), 0n);

const decisionsPart = ({ decisions }: AuditReport): ReportPart => ({
  heading: 'Decisions',
  text: decisions.length === 0 ? ['Nothing was decided.'] : [],
  table: table(
    ['Service', 'Outcome', 'Decisions'],
    decisions.map(({ decider, outcome, decisions: count }) => [{ name: decider }, outcome, String(count)]),
  ),
  bars: [],
});

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

/** Nothing is loaded and nothing runs, whatever a name in the report says. */
const HEAD = `<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>FleetGC report</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: .2rem .9rem .2rem 0; border-bottom: 1px solid #8884; }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; margin: .5rem 0 1rem; }
svg text { fill: currentColor; }
svg rect { fill: #2f7bbf; }
</style>`;

/** The report as one file that needs no other. */
export const reportHtml = (report: AuditReport, which: WhichParts = 'all'): string =>
  [
    '<!doctype html>',
    '<html lang="en">',
    `<head>\n${HEAD}\n</head>`,
    '<body>',
    '<h1>FleetGC report</h1>',
    ...htmlParagraph(introduction(report)),
    ...reportParts(report, which).flatMap(partHtml),
    '</body>',
    '</html>',
  ].join('\n');

const partHtml = ({ heading, text, table, bars }: ReportPart): readonly string[] => [
  `<h2>${htmlText(heading)}</h2>`,
  ...htmlParagraph(text),
  ...(bars.length > 1 ? [barPlot(heading, bars)] : []),
  ...(table === null ? [] : tableHtml(table)),
];

const htmlParagraph = (sentences: readonly string[]): readonly string[] =>
  sentences.length === 0 ? [] : [`<p>${cellText(sentences.join(' '))}</p>`];

const tableHtml = ({ header, rows }: Table): readonly string[] => [
  '<table>',
  `<tr>${header.map((cell) => `<th>${cellText(cell)}</th>`).join('')}</tr>`,
  ...rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cellHtml(cell)}</td>`).join('')}</tr>`),
  '</table>',
];

const cellHtml = (cell: Cell): string =>
  typeof cell === 'string' ? cellText(cell) : `<code>${cellText(cell.name)}</code>`;

const cellText = (text: string): string => htmlText(printableLine(text));

const WIDTH = 900;
const ROW = 22;
const LABEL = 440;
const VALUE = 90;
const LONGEST = WIDTH - LABEL - VALUE;

/** Horizontal bars as an inline SVG, one a row; below zero there is none, and its text says so. */
function barPlot(title: string, bars: readonly Bar[]): string {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const height = bars.length * ROW;
  return [
    `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${htmlText(title)}">`,
    ...bars.map((bar, row) => barSvg(bar, { top: row * ROW, length: lengthOf(bar, most) })),
    '</svg>',
  ].join('\n');
}

const lengthOf = ({ value }: Bar, most: number): number => Math.round((Math.max(0, value) / most) * LONGEST);

const barSvg = ({ label, text }: Bar, { top, length }: { readonly top: number; readonly length: number }) =>
  [
    `<text x="${LABEL - 8}" y="${top + 15}" text-anchor="end">${htmlText(label)}</text>`,
    `<rect x="${LABEL}" y="${top + 3}" width="${length}" height="${ROW - 6}"/>`,
    `<text x="${LABEL + length + 6}" y="${top + 15}">${htmlText(text)}</text>`,
  ].join('');

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text in HTML, between tags and in quoted attributes alike. */
const htmlText = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
