import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import { ClustersReport } from '../../../schemas/reports/clusters-report.ts';
import type { DashboardClusterOutcomes } from '../../../schemas/reports/dashboard-clusters.ts';
import { ruleWords } from '../../deciders/rule-words.ts';
import { COLLECTOR_OF_DECIDER, DECIDER_OF_ACTION } from '../report/clusters/collectors.ts';
import type { FreedRange } from './freed.ts';

const { action, result } = ClusterObjectResults.shape.objects.element.shape;
const outcomes = z.enum(result.options.map((option) => option.shape.outcome.value));
const sum = {
  kind: z.string(),
  action,
  rule: z.string(),
  ownRule: z.string().nullable(),
  objects: z.number(),
};
const { refused, failed } = ClustersReport.shape;

/** Results of one kind together. */
const Summed = z.discriminatedUnion('outcome', [
  z.object({ ...sum, outcome: outcomes.extract(['refused']), reason: refused.element.shape.reason }),
  z.object({ ...sum, outcome: outcomes.extract(['failed']), reason: failed.element.shape.reason }),
  z.object({ ...sum, outcome: outcomes.exclude(['refused', 'failed']) }),
]);
type Summed = z.infer<typeof Summed>;

const SUMS = `SELECT kind, action, rule, own_rule AS ownRule, outcome, reason, sum(objects) AS objects
  FROM cluster_outcomes WHERE cluster = ? AND at_ms >= ? AND at_ms < ?
  GROUP BY kind, action, rule, own_rule, outcome, reason ORDER BY objects DESC, kind, rule, action`;

/** What came of objects of a cluster in that time, as the report of `fleetgc audit report` has it. */
export function readClusterOutcomes(
  db: DatabaseSync,
  cluster: string,
  { fromMs, toMs }: FreedRange,
  knownSinceMs: number | null,
): DashboardClusterOutcomes {
  const sums = db
    .prepare(SUMS)
    .all(cluster, fromMs, toMs ?? Number.MAX_SAFE_INTEGER)
    .map((row) => Summed.parse(row));
  const countOf = (outcome: Summed['outcome']): number =>
    sums.reduce((count, each) => count + (each.outcome === outcome ? each.objects : 0), 0);
  return {
    fromMs,
    toMs,
    knownSinceMs,
    removed: removedOf(cluster, sums),
    changed: sums
      .filter(({ outcome }) => outcome === 'patched')
      .map((each) => ({ ...byRule(cluster, each), action: each.action, objects: each.objects })),
    goneAlready: countOf('not-found'),
    rehearsed: countOf('rehearsed'),
    refused: sums.flatMap((each) =>
      each.outcome === 'refused'
        ? [{ cluster, kind: each.kind, reason: each.reason, objects: each.objects }]
        : [],
    ),
    failed: sums.flatMap((each) =>
      each.outcome === 'failed'
        ? [{ cluster, kind: each.kind, reason: each.reason, objects: each.objects }]
        : [],
    ),
  };
}

type Removed = DashboardClusterOutcomes['removed'][number];

/** Those that finalizers held count too, beside those that went at once. */
function removedOf(cluster: string, sums: readonly Summed[]): Removed[] {
  const rows = new Map<string, Removed>();
  for (const each of sums) {
    if (each.outcome !== 'removed' && each.outcome !== 'accepted') continue;
    const row = { ...byRule(cluster, each), ownRule: each.ownRule };
    const key = JSON.stringify(row);
    const { objects, waiting } = rows.get(key) ?? { objects: 0, waiting: 0 };
    rows.set(key, {
      ...row,
      objects: objects + each.objects,
      waiting: waiting + (each.outcome === 'accepted' ? each.objects : 0),
    });
  }
  return [...rows.values()].toSorted((a, b) => b.objects - a.objects);
}

const byRule = (cluster: string, { kind, action: done, rule }: Summed) => ({
  cluster,
  kind,
  collector: COLLECTOR_OF_DECIDER[DECIDER_OF_ACTION[done]](rule),
  rule,
  because: ruleWords({ rule, action: done }),
});
