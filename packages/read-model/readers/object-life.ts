import type { DashboardObjectLife } from '../../../schemas/reports/dashboard-clusters.ts';
import { explainCluster } from '../../audit/explain/cluster/explain-cluster.ts';
import { ruleWords } from '../../deciders/rule-words.ts';
import type { ProjectedLog } from '../projection/standing.ts';

/** Of each life so many entries are told, the last ones. */
const MOST_ENTRIES = 200;

/** What became of an object, as `fleetgc audit explain object/UID --cluster NAME` tells it of the whole log. */
export async function readObjectLife(
  from: ProjectedLog,
  { cluster, uid }: { readonly cluster: string; readonly uid: string },
  signal: AbortSignal,
): Promise<DashboardObjectLife> {
  const request = {
    name: `object/${uid}`,
    cluster,
    range: { fromMs: null, toMs: null },
    thereOnly: false,
  };
  const needs = { log: from.log, words: ruleWords, signal, onProgress: () => undefined };
  const explanation = await explainCluster(request, needs);
  if (explanation.status !== 'explained') return { explanation, leftOut: 0 };
  const lives = explanation.lives.map((life) => ({ ...life, timeline: life.timeline.slice(-MOST_ENTRIES) }));
  const leftOut = explanation.lives.reduce(
    (sum, { timeline }) => sum + Math.max(0, timeline.length - MOST_ENTRIES),
    0,
  );
  return { explanation: { ...explanation, lives }, leftOut };
}
