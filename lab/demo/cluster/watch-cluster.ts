import { decisionLines, type Judged, resultLines } from '../../../cli/run/cluster/cluster-lines.ts';
import { candidatesOf } from '../../../cli/run/cluster/follow-cluster.ts';
import { eventsOf } from '../../../cli/run/follow.ts';
import { type Named, objectsText } from '../../../cli/views/cluster/object-text.ts';
import { ruleWords } from '../../../packages/deciders/rule-words.ts';
import type { EventLog } from '../../../packages/log/port.ts';
import type { ClusterDecision } from '../../../schemas/events/cluster-decision.ts';
import type { ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import { outcomeOf } from './scenes.ts';

/** One thing that was decided or done about one object. */
interface ClusterStep {
  readonly action: string;
  readonly rule: string;
  readonly object: Named;
}

/** What FleetGC tells of the cluster at once. */
export interface ClusterNews {
  readonly kind: 'cluster-decided' | 'cluster-done';
  readonly steps: readonly (ClusterStep & { readonly outcome: string })[];
  /** For people. */
  readonly lines: readonly string[];
  /** What is settled by it, by `outcomeOf`. */
  readonly ends: readonly string[];
}

/** Reads the event log from this time on, and calls `onNews` for what happens, until the signal aborts. */
export async function watchCluster(
  { log, fromMs }: { readonly log: Pick<EventLog, 'read'>; readonly fromMs: number },
  onNews: (news: ClusterNews) => void,
  signal: AbortSignal,
): Promise<void> {
  const decisions = async (): Promise<void> => {
    for await (const decision of eventsOf(log, { topic: 'clusterDecisions', fromMs }, signal))
      onNews(decided(decision, (await candidatesOf(decision, log, signal)) ?? []));
  };
  const results = async (): Promise<void> => {
    for await (const result of eventsOf(log, { topic: 'clusterResults', fromMs }, signal))
      if (result.type === 'fleetgc.cluster.object-results') onNews(done(result));
  };
  await Promise.all([decisions(), results()]);
}

/** What a decision alone settles: all else has to be carried out. */
const BY_DECISION: ReadonlySet<string> = new Set(['keep', 'hold']);
/** Of all that is kept, only this is told: everything else has an owner that holds it. */
const COPY_IS_KEPT = 'S4';

function decided(decision: ClusterDecision, candidates: readonly Judged[]): ClusterNews {
  const { outcome } = decision;
  const steps = decision.verdicts.flatMap(({ position, action, rule }) => {
    const object = candidates[position]?.object;
    return object === undefined ? [] : [{ action, rule, object: named(object), outcome }];
  });
  const kept = steps.filter(({ rule }) => rule === COPY_IS_KEPT);
  return {
    kind: 'cluster-decided',
    steps,
    lines: [...keptLines(decision, kept), ...decisionLines(decision, candidates)],
    ends: steps
      .filter(({ action }) => BY_DECISION.has(action))
      .map(({ action, object }) => outcomeOf(action, object)),
  };
}

const keptLines = ({ decider }: ClusterDecision, kept: readonly ClusterStep[]): readonly string[] =>
  kept.length === 0
    ? []
    : [
        `${decider.name} keeps ${objectsText(
          kept.length,
          kept.map(({ object }) => object),
        )}: ${ruleWords({ rule: COPY_IS_KEPT, action: 'keep' })} (${COPY_IS_KEPT})`,
      ];

const DONE: ReadonlySet<string> = new Set(['removed', 'accepted', 'patched', 'not-found']);

function done({ objects }: ClusterObjectResults): ClusterNews {
  const steps = objects.map(({ action, rule, object, result }) => ({
    action,
    rule,
    object: named(object),
    outcome: result.outcome,
  }));
  return {
    kind: 'cluster-done',
    steps,
    lines: resultLines({ objects }),
    ends: steps
      .filter(({ outcome }) => DONE.has(outcome))
      .map(({ action, object }) => outcomeOf(action, object)),
  };
}

const named = ({ group, kind, namespace, name }: Named): Named => ({ group, kind, namespace, name });
