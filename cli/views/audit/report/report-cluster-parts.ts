import { ruleWords } from '../../../../packages/deciders/rule-words.ts';
import { approvedText } from '../../../../packages/read-model/holds.ts';
import { counted } from '../../../../packages/text/counted.ts';
import { timeText } from '../../../../packages/text/time-text.ts';
import type { ClusterConcluded, ClustersReport } from '../../../../schemas/reports/clusters-report.ts';
import { PATCHED } from '../../cluster/patched-text.ts';
import { type Cell, type ReportPart, table } from './report-part.ts';

/** What happened in clusters, where any told something. */
export const clusterParts = (report: ClustersReport): readonly ReportPart[] =>
  report.clusters === 0
    ? []
    : [
        deletedPart(report),
        ...(report.changed.length === 0 ? [] : [changedPart(report)]),
        heldPart(report),
        ...(report.wouldGo.length === 0 && report.unnamed === 0 ? [] : [wouldGoPart(report)]),
        stayedPart(report),
        ...(report.approvals.length === 0 ? [] : [approvalsPart(report)]),
        ...(report.policyChanges.length === 0 ? [] : [policyChangesPart(report)]),
        decisionsPart(report),
      ];

const OWN_RULE = 'a rule of the policy';

const sumOf = (rows: readonly { readonly objects: number }[]): number =>
  rows.reduce((sum, { objects }) => sum + objects, 0);

function deletedPart({ removed, goneAlready, rehearsed, unreported }: ClustersReport): ReportPart {
  const waiting = removed.reduce((sum, row) => sum + row.waiting, 0);
  const rows = removed.map(({ cluster, kind, collector, rule, ownRule, objects }) => [
    { name: cluster },
    { name: kind },
    ownRule === null ? (collector ?? OWN_RULE) : { name: ownRule },
    ruleWords({ rule, action: 'delete' }),
    rule,
    String(objects),
  ]);
  return {
    heading: 'Clusters: deleted, by rule',
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
  };
}

const changedPart = ({ changed }: ClustersReport): ReportPart => ({
  heading: 'Clusters: changed',
  text: [],
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
  bars: [],
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

const heldPart = ({ held }: ClustersReport): ReportPart => ({
  heading: 'Clusters: held',
  text:
    held.length === 0
      ? ['Nothing was held.']
      : ['Each object once, by its last hold in this time. fleetgc held tells what is held now.'],
  table: concludedTable(held, 'hold'),
  bars: [],
});

const wouldGoPart = ({ wouldGo, unnamed }: ClustersReport): ReportPart => ({
  heading: 'Clusters: dry run, what would have gone or changed',
  text: [
    'Each object once. What its deletion would have set free is not among it.',
    ...(unnamed === 0
      ? []
      : [
          `The objects of ${counted(unnamed, 'decision')} cannot be named: their facts lie before this time.`,
        ]),
  ],
  table: concludedTable(wouldGo, 'delete'),
  bars: [],
});

function stayedPart({ refused, failed, refusedCommands }: ClustersReport): ReportPart {
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
  return {
    heading: 'Clusters: refused and failed, by reason',
    text: rows.length === 0 ? ['Nothing was refused, and nothing failed.'] : [],
    table: table(['How', 'Cluster', 'What', 'Reason', 'How many'], rows),
    bars: [],
  };
}

const said = (text: string): Cell => (text === '' ? '' : { name: text });

const approvalsPart = ({ approvals }: ClustersReport): ReportPart => ({
  heading: 'Clusters: approvals',
  text: [],
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
  bars: [],
});

const policyChangesPart = ({ policyChanges }: ClustersReport): ReportPart => ({
  heading: 'Clusters: policies that were applied',
  text: [],
  table: table(
    ['When', 'Policy', 'Version', 'Mode'],
    policyChanges.map(({ atMs, name, policyVersion, mode }) => [
      timeText(atMs),
      { name },
      String(policyVersion),
      mode,
    ]),
  ),
  bars: [],
});

const decisionsPart = ({ decisions }: ClustersReport): ReportPart => ({
  heading: 'Clusters: decisions',
  text: decisions.length === 0 ? ['Nothing was decided.'] : [],
  table: table(
    ['Service', 'Outcome', 'Decisions'],
    decisions.map(({ decider, outcome, decisions: count }) => [{ name: decider }, outcome, String(count)]),
  ),
  bars: [],
});
