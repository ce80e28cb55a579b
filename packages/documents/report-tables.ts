import type { ObjectKind } from '../../schemas/events/object-kinds.ts';
import type { AuditReport, Moment, Pause, WouldGo } from '../../schemas/reports/audit-report.ts';
import type { ClusterConcluded, ClustersReport } from '../../schemas/reports/clusters-report.ts';
import { ruleWords } from '../deciders/rule-words.ts';
import { removedBecause } from '../decision/rule-text.ts';
import { selectorText } from '../policy/selector-text.ts';
import { leastOf, mostOf } from '../process/collections.ts';
import { approvedText } from '../read-model/holds.ts';
import { counted } from '../text/counted.ts';
import { shortHash } from '../text/short-hash.ts';
import { sizeText } from '../text/size-text.ts';
import { timeText } from '../text/time-text.ts';
import { PATCHED } from './cluster.ts';
import { type Cell, type Section, section, type Table } from './document.ts';

/** More would be read by nobody. */
const MOST_ROWS = 50;

/** No table where there is no row. */
export function table(header: readonly string[], rows: readonly (readonly Cell[])[]): Table | null {
  if (rows.length === 0) return null;
  const more = rows.length - MOST_ROWS;
  if (more <= 0) return { header, rows };
  return { header, rows: [...rows.slice(0, MOST_ROWS), [`… and ${more} more; -o json has them all`]] };
}

/** What happened in clusters, where any told something. */
export const clusterParts = (report: ClustersReport): readonly Section[] =>
  report.clusters === 0
    ? []
    : [
        deletedPart(report),
        ...(report.changed.length === 0 ? [] : [changedPart(report)]),
        heldPart(report),
        ...(report.wouldGo.length === 0 && report.unnamed === 0 ? [] : [wouldGoPart(report)]),
        stayedPart(report),
        ...(report.approvals.length === 0 ? [] : [approvalsPart(report)]),
        ...(report.policyChanges.length === 0 ? [] : [clusterPolicyChangesPart(report)]),
        decisionsPart('Clusters: decisions', report),
      ];

const OWN_RULE = 'a rule of the policy';

const sumOf = (rows: readonly { readonly objects: number }[]): number =>
  rows.reduce((sum, { objects }) => sum + objects, 0);

function deletedPart({ removed, goneAlready, rehearsed, unreported }: ClustersReport): Section {
  const waiting = removed.reduce((sum, row) => sum + row.waiting, 0);
  const rows = removed.map(({ cluster, kind, collector, rule, ownRule, objects }) => [
    { name: cluster },
    { name: kind },
    ownRule === null ? (collector ?? OWN_RULE) : { name: ownRule },
    ruleWords({ rule, action: 'delete' }),
    rule,
    String(objects),
  ]);
  return section('Clusters: deleted, by rule', {
    text: [
      `${counted(sumOf(removed), 'object')} deleted.`,
      ...(waiting === 0 ? [] : [`Finalizers or their grace held ${waiting} of them at first.`]),
      ...(goneAlready === 0 ? [] : [`${counted(goneAlready, 'object was', 'objects were')} gone already.`]),
      ...(rehearsed === 0
        ? []
        : [`${counted(rehearsed, 'object')} rehearsed: the API server would have done it.`]),
      ...unreported.map(
        ({ cluster, kind, found, objects }) =>
          `${counted(objects, 'object')} of kind ${kind} in ${cluster} announced by an executor that ended without a report: found ${found}.`,
      ),
    ],
    table: table(['Cluster', 'Kind', 'Collector', 'Why', 'Rule', 'Objects'], rows),
    bars: removed.map(({ cluster, kind, rule, objects }) => ({
      label: `${cluster}: ${kind} (${rule})`,
      value: objects,
      text: String(objects),
    })),
  });
}

const changedPart = ({ changed }: ClustersReport): Section =>
  section('Clusters: changed', {
    table: table(
      ['Cluster', 'Kind', 'What', 'Rule', 'Objects'],
      changed.map(({ cluster, kind, action, rule, objects }) => [
        { name: cluster },
        { name: kind },
        PATCHED[action],
        rule,
        String(objects),
      ]),
    ),
  });

const concludedTable = (rows: readonly ClusterConcluded[], action: 'hold' | 'delete') =>
  table(
    ['Cluster', 'Kind', 'Collector', 'Why', 'Rule', 'Objects', 'Last decided'],
    rows.map(({ cluster, kind, collector, rule, objects, lastMs }) => [
      { name: cluster },
      { name: kind },
      collector ?? OWN_RULE,
      ruleWords({ rule, action }),
      rule,
      String(objects),
      timeText(lastMs),
    ]),
  );

const heldPart = ({ held }: ClustersReport): Section =>
  section('Clusters: held', {
    text:
      held.length === 0
        ? ['Nothing was held.']
        : ['Each object once, by its last hold in this time. fleetgc held tells what is held now.'],
    table: concludedTable(held, 'hold'),
  });

const wouldGoPart = ({ wouldGo, unnamed }: ClustersReport): Section =>
  section('Clusters: dry run, what would have gone or changed', {
    text: [
      'Each object once. What its deletion would have set free is not among it.',
      ...(unnamed === 0
        ? []
        : [
            `The objects of ${counted(unnamed, 'decision')} cannot be named: their facts lie before this time.`,
          ]),
    ],
    table: concludedTable(wouldGo, 'delete'),
  });

function stayedPart({ refused, failed, refusedCommands }: ClustersReport): Section {
  const rows = [
    ...refused.map((row) => ['refused', row.cluster, row.kind, row.reason, String(row.objects)]),
    ...failed.map((row) => ['failed', row.cluster, row.kind, row.reason, String(row.objects)]),
    ...refusedCommands.map((row) => [
      'refused',
      row.cluster,
      'whole command',
      row.reason,
      String(row.commands),
    ]),
  ];
  return section('Clusters: refused and failed, by reason', {
    text: rows.length === 0 ? ['Nothing was refused, and nothing failed.'] : [],
    table: table(['How', 'Cluster', 'What', 'Reason', 'How many'], rows),
  });
}

const said = (text: string): Cell => (text === '' ? '' : { name: text });

const approvalsPart = ({ approvals }: ClustersReport): Section =>
  section('Clusters: approvals', {
    table: table(
      ['Given', 'Cluster', 'What', 'Ends', 'By', 'Reason'],
      approvals.map(({ cluster, what, by, reason, atMs, untilMs, withdrawnMs }) => [
        timeText(atMs),
        { name: cluster },
        { name: approvedText(what) },
        withdrawnMs === null ? timeText(untilMs) : `${timeText(withdrawnMs)}, withdrawn`,
        said(by),
        said(reason),
      ]),
    ),
  });

const clusterPolicyChangesPart = ({ policyChanges }: ClustersReport): Section =>
  section('Clusters: policies that were applied', {
    table: table(
      ['When', 'Policy', 'Version', 'Mode'],
      policyChanges.map(({ atMs, name, policyVersion, mode }) => [
        timeText(atMs),
        { name },
        String(policyVersion),
        mode,
      ]),
    ),
  });

export const decisionsPart = (
  heading: string,
  { decisions }: Pick<AuditReport | ClustersReport, 'decisions'>,
): Section =>
  section(heading, {
    text: decisions.length === 0 ? ['Nothing was decided.'] : [],
    table: table(
      ['Service', 'Outcome', 'Decisions'],
      decisions.map(({ decider, outcome, decisions: count }) => [{ name: decider }, outcome, String(count)]),
    ),
  });

/** What policies in dry-run would have removed: what somebody reads who is about to write `enforce`. */
export function dryRunParts({ dryRun, wouldGo }: AuditReport): readonly Section[] {
  if (dryRun.decisions === 0)
    return [
      section(HEADING, {
        text: ['No policy in dry-run would have removed anything.'],
      }),
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

function summaryPart(dryRun: AuditReport['dryRun'], wouldGo: readonly WouldGo[]): Section {
  const { objects, decisions, unnamed, estimatedBytes } = dryRun;
  const byRule = grouped(wouldGo, ({ kind, rule, policy }) => JSON.stringify([kind, rule, policy]));
  return section(HEADING, {
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
  });
}

/** When it was planned: the policy may say something else by now. */
export function plannedText(wouldGo: readonly WouldGo[]): string {
  if (wouldGo.length === 0) return '';
  const first = timeText(leastOf(wouldGo.map(({ firstMs }) => firstMs)));
  const last = timeText(mostOf(wouldGo.map(({ lastMs }) => lastMs)));
  return first === last ? `, at ${first}` : `, from ${first} to ${last}`;
}

const nodesPart = (wouldGo: readonly WouldGo[]): Section =>
  section('Dry run, by node', {
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
  });

/** By name: the same image on many nodes is one question. */
const imagesPart = (wouldGo: readonly WouldGo[]): Section =>
  section('Dry run, by image', {
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
  });

function othersPart(wouldGo: readonly WouldGo[]): Section {
  const others = wouldGo.filter(({ kind }) => !IS_ON_MANY_NODES[kind]);
  return section('Dry run, containers, sandboxes and logs', {
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
  });
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

const NOT_KNOWN = 'Not known: there is no record of that time.';

/** What the log does not reach to nobody knows, also not that nothing happened. */
const isUnknown = ({ range: { fromMs, toMs }, read, kept = null }: AuditReport): boolean =>
  read.records === 0 &&
  (kept === null || (toMs !== null && toMs <= kept.firstMs) || (fromMs !== null && fromMs > kept.lastMs));

const nothingText = (report: AuditReport, nothing: string): string =>
  isUnknown(report) ? NOT_KNOWN : nothing;

export const policyChangesPart = (report: AuditReport): Section =>
  section('Policy changes', {
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

export const pausesPart = (report: AuditReport): Section =>
  section('Pauses', {
    text: [
      ...(report.pauses.length === 0 ? [nothingText(report, 'Nothing was paused.')] : []),
      ...(report.pauses.some(isAbout)
        ? [
            '"By" is when the first decision was made that knew of it; the record itself is not on the event log any more.',
          ]
        : []),
    ],
    table: table(['From', 'To', 'Nodes', 'Who', 'Reason'], report.pauses.map(pauseCells)),
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
