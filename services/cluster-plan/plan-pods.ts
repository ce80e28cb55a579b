import type { ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import type { ClusterPolicy } from '../../schemas/policy/cluster-policy.ts';
import type { CollectorPlan } from '../../schemas/reports/cluster-plan.ts';
import type { ClusterGraph } from '../cluster-agent/cluster-graph.ts';
import { PodWatch } from '../cluster-agent/pods/pod-watch.ts';
import { decide } from '../pod-gc/decide.ts';
import { QUARANTINE_MS } from '../pod-gc/rules/conclude.ts';
import { podSettingsOf } from '../pod-gc/rules/settings.ts';
import type { ClusterLook, ListedKind } from './look.ts';
import { plannedAction } from './planned-action.ts';

/** What would become of pods if nodes that are missing stay so. Without lists of pods and nodes nothing is said. */
export function planPods(
  look: ClusterLook,
  graph: ClusterGraph,
  policy: ClusterPolicy,
): Omit<CollectorPlan, 'collector'> {
  let nowMs = 0;
  const watch = new PodWatch({
    isKeptNamespace: (namespace) => graph.isKeptNamespace(namespace),
    nowMs: () => nowMs,
  });
  for (const list of look.lists) take(list, watch);
  watch.look(podSettingsOf(policy), false);
  nowMs = QUARANTINE_MS;
  const found = watch.look(podSettingsOf(policy), false);
  if (found === null) return { outcome: 'nothing-to-do', objects: [] };
  const candidates = [...found.due];
  const { outcome, verdicts } = decide({ candidates, totals: found.totals, wentBack: false }, policy);
  const planned = (verdict: ClusterVerdict) => {
    const pod = candidates[verdict.position];
    return pod === undefined ? [] : [plannedAction(pod.object, verdict, 0)];
  };
  return { outcome, objects: verdicts.flatMap(planned) };
}

function take({ kind, objects }: ListedKind, watch: PodWatch): void {
  if (objects === null) return;
  for (const mirror of [watch.pods, watch.nodes]) {
    mirror.beginList(kind);
    mirror.listed(kind, objects);
    mirror.endList(kind, true);
  }
}
