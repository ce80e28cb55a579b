import { removedBecause } from '../../../../packages/decision/rule-text.ts';
import { leastOf, mostOf } from '../../../../packages/process/collections.ts';
import { counted } from '../../../../packages/text/counted.ts';
import { sizeText } from '../../../../packages/text/size-text.ts';
import { timeText } from '../../../../packages/text/time-text.ts';
import type { ObjectKind } from '../../../../schemas/events/object-kinds.ts';
import type { AuditReport, WouldGo } from '../../../../schemas/reports/audit-report.ts';
import { type Cell, type ReportPart, table } from './report-part.ts';

/** What policies in dry-run would have removed: what somebody reads who is about to write `enforce`. */
export function dryRunParts({ dryRun, wouldGo }: AuditReport): readonly ReportPart[] {
  if (dryRun.decisions === 0)
    return [
      {
        heading: HEADING,
        text: ['No policy in dry-run would have removed anything.'],
        table: null,
        bars: [],
      },
    ];
  return [summaryPart(dryRun, wouldGo), nodesPart(wouldGo), imagesPart(wouldGo), othersPart(wouldGo)];
}

/** Whether the same object is on many nodes, and is asked about once. */
const IS_ON_MANY_NODES: Readonly<Record<ObjectKind, boolean>> = {
  container: false,
  sandbox: false,
  'pod-log-directory': false,
  'log-symlink': false,
  image: true,
};

const HEADING = 'Dry run: what would have gone';

function summaryPart(dryRun: AuditReport['dryRun'], wouldGo: readonly WouldGo[]): ReportPart {
  const { objects, decisions, unnamed, estimatedBytes } = dryRun;
  const byRule = grouped(wouldGo, ({ kind, rule, policy }) => JSON.stringify([kind, rule, policy]));
  return {
    heading: HEADING,
    text: [
      `${counted(objects, 'object')}, each counted once on its node; the images would have freed about ${sizeText(BigInt(estimatedBytes))}. Nothing of it was removed then: the policies said dry-run${plannedText(wouldGo)}.`,
      `It is what ${counted(decisions, 'decision')} planned. With enforce what goes is not planned again, so later plans would have been smaller.`,
      ...(unnamed === 0
        ? []
        : [
            `Of ${counted(unnamed, 'decision')} the objects are not known: their inventories lie before this time, or are not on the event log any more.`,
          ]),
    ],
    table: table(
      ['What', 'Why', 'Rule', 'Policy', 'Objects', 'About'],
      byRule.map(({ first: { kind, rule, policy }, group }) => [
        kind,
        removedBecause(rule),
        rule,
        { name: policy },
        String(group.length),
        bytesText(group),
      ]),
    ),
    bars: byRule.map(({ first, group }) => ({
      label: `${first.kind}: ${removedBecause(first.rule)}`,
      value: Number(bytesOf(group) ?? 0n),
      text: bytesText(group),
    })),
  };
}

/** When it was planned: the policy may say something else by now. */
export function plannedText(wouldGo: readonly WouldGo[]): string {
  if (wouldGo.length === 0) return '';
  const first = timeText(leastOf(wouldGo.map(({ firstMs }) => firstMs)));
  const last = timeText(mostOf(wouldGo.map(({ lastMs }) => lastMs)));
  return first === last ? `, at ${first}` : `, from ${first} to ${last}`;
}

const nodesPart = (wouldGo: readonly WouldGo[]): ReportPart => ({
  heading: 'Dry run, by node',
  text: [],
  table: table(
    ['Node', 'Images', 'Others', 'About', 'First', 'Last'],
    grouped(wouldGo, ({ cluster, node }) => `${cluster}/${node}`).map(({ key, group }) => {
      const images = group.filter(({ kind }) => IS_ON_MANY_NODES[kind]).length;
      return [
        { name: key },
        String(images),
        String(group.length - images),
        bytesText(group),
        timeText(leastOf(group.map(({ firstMs }) => firstMs))),
        timeText(mostOf(group.map(({ lastMs }) => lastMs))),
      ];
    }),
  ),
  bars: [],
});

/** By name: the same image on many nodes is one question. */
const imagesPart = (wouldGo: readonly WouldGo[]): ReportPart => ({
  heading: 'Dry run, by image',
  text: [],
  table: table(
    ['Image', 'Nodes', 'About', 'Why', 'Rule'],
    grouped(
      wouldGo.filter(({ kind }) => IS_ON_MANY_NODES[kind]),
      ({ name, rule }) => JSON.stringify([name, rule]),
    ).map(({ first, group }) => [
      { name: first.name },
      nodesText(group),
      bytesText(group),
      removedBecause(first.rule),
      first.rule,
    ]),
  ),
  bars: [],
});

function othersPart(wouldGo: readonly WouldGo[]): ReportPart {
  const others = wouldGo.filter(({ kind }) => !IS_ON_MANY_NODES[kind]);
  return {
    heading: 'Dry run, containers, sandboxes and logs',
    text: others.length === 0 ? ['None would have gone.'] : [],
    table: table(
      ['What', 'Name', 'Node', 'Why', 'Rule'],
      others.map(({ kind, name, cluster, node, rule }): Cell[] => [
        kind,
        { name },
        { name: `${cluster}/${node}` },
        removedBecause(rule),
        rule,
      ]),
    ),
    bars: [],
  };
}

interface Group {
  readonly key: string;
  readonly first: WouldGo;
  readonly group: readonly WouldGo[];
}

/** The most bytes first, then the most objects. */
function grouped(wouldGo: readonly WouldGo[], keyOf: (one: WouldGo) => string): readonly Group[] {
  return [...Map.groupBy(wouldGo, keyOf)]
    .flatMap(([key, group]) => {
      const [first] = group;
      return first === undefined ? [] : [{ key, first, group }];
    })
    .toSorted((a, b) => {
      const [one, other] = [bytesOf(a.group) ?? 0n, bytesOf(b.group) ?? 0n];
      return Number(other > one) - Number(other < one) || b.group.length - a.group.length;
    });
}

/** `null`: none of them has a size that is known before. */
function bytesOf(group: readonly WouldGo[]): bigint | null {
  const known = group.flatMap(({ estimatedBytes }) => estimatedBytes ?? []);
  return known.length === 0 ? null : known.reduce((sum, bytes) => sum + BigInt(bytes), 0n);
}

function bytesText(group: readonly WouldGo[]): string {
  const bytes = bytesOf(group);
  return bytes === null ? 'not known before' : sizeText(bytes);
}

function nodesText(group: readonly WouldGo[]): string {
  const nodes = new Set(group.map(({ cluster, node }) => `${cluster}/${node}`));
  return String(nodes.size);
}
