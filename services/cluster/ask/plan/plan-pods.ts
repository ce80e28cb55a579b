import { decide as decidePods } from '../../../../packages/deciders/pod-gc/decide.ts';
import { QUARANTINE_MS } from '../../../../packages/deciders/pod-gc/rules/conclude.ts';
import { podSettingsOf } from '../../../../packages/deciders/pod-gc/rules/settings.ts';
import type { ClusterVerdict } from '../../../../schemas/events/cluster-decision.ts';
import type { PodCandidate } from '../../../../schemas/events/pods.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';
import type { CollectorPlan } from '../../../../schemas/reports/cluster-plan.ts';
import type { ClusterGraph } from '../../agent/cluster-graph.ts';
import { PodWatch } from '../../agent/pods/pod-watch.ts';
import type { ClusterLook, ListedKind } from './look.ts';

/** A cluster as it was listed, and the owner graph of what was. */
export interface Looked {
  readonly look: ClusterLook;
  readonly graph: ClusterGraph;
}

interface JudgedPods {
  readonly outcome: CollectorPlan['outcome'];
  readonly judged: readonly { readonly pod: PodCandidate; readonly verdict: ClusterVerdict }[];
}

/** What would become of pods if nodes that are missing stay so. Without lists of pods and nodes nothing is said. */
export function judgePods({ look, graph }: Looked, policy: ClusterPolicy): JudgedPods {
  let nowMs = 0;
  const watch = new PodWatch({
    isKeptNamespace: (namespace) => graph.isKeptNamespace(namespace),
    nowMs: () => nowMs,
  });
  for (const list of look.lists) take(list, watch);
  // Policies of files approve nothing: what is held is told as held.
  const settings = podSettingsOf(policy, []);
  watch.look(settings, false);
  nowMs = QUARANTINE_MS;
  const found = watch.look(settings, false);
  if (found === null) return { outcome: 'nothing-to-do', judged: [] };
  const { outcome, verdicts } = decidePods(
    { candidates: [...found.due], totals: found.totals, wentBack: false },
    policy,
    [],
  );
  const judged = verdicts.flatMap((verdict) => {
    const pod = found.due[verdict.position];
    return pod === undefined ? [] : [{ pod, verdict }];
  });
  return { outcome, judged };
}

function take({ kind, objects }: ListedKind, watch: PodWatch): void {
  if (objects === null) return;
  for (const mirror of [watch.pods, watch.nodes]) {
    mirror.beginList(kind);
    mirror.listed(kind, objects);
    mirror.endList(kind, true);
  }
}
