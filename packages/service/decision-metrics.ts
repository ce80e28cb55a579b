import { DECIDERS, type DeciderNameFor } from '../../schemas/events/deciders.ts';
import { DECISIONS } from '../../schemas/events/decision.ts';
import type { DiskStats } from '../../schemas/events/disk-stats.ts';
import type { SubjectKind } from '../../schemas/events/identity.ts';
import type { Observe } from '../../schemas/events/observe.ts';
import { isAtBeginning } from '../../schemas/events/reclaim.ts';
import { type FleetEvent, TOPICS } from '../../schemas/events/topics.ts';
import type { OutgoingRecord } from '../log/port.ts';
import type { Metrics } from '../process/metrics.ts';
import type { OnOutputs } from '../records/decide.ts';
import { HeldCount } from './held-count.ts';

/** What is counted of one decider, beside what is counted of its consumer. */
export interface DecisionMetrics {
  readonly decided: OnOutputs;
  /** The event log has taken these. */
  acknowledged(records: readonly OutgoingRecord[]): void;
}

type DeciderName = DeciderNameFor<SubjectKind>;

const DECISION_TOPICS: ReadonlySet<string> = new Set([TOPICS.decisions.name, TOPICS.clusterDecisions.name]);

/** `now`: epoch milliseconds. */
export function decisionMetrics(metrics: Metrics, decider: DeciderName, now: () => number): DecisionMetrics {
  const takes = [countDecisions(metrics, decider), ...watchersOf(metrics, decider, now)];
  let lastMs = now();
  metrics.gauge(
    'last_decision_timestamp_seconds',
    'When the event log last took a decision of it, Unix time; before the first, when it started.',
    ['decider'],
    () => [[{ decider }, lastMs / 1000]],
  );
  return {
    decided: (event, stages) => {
      const outputs = stages.flat().map((output) => output.event);
      for (const take of takes) take(event, outputs);
    },
    acknowledged: (records) => {
      if (records.some(({ topic }) => DECISION_TOPICS.has(topic))) lastMs = now();
    },
  };
}

type Take = (event: FleetEvent | null, outputs: readonly FleetEvent[]) => void;

/** Attempts by what came of them, and what was kept and why. */
function countDecisions(metrics: Metrics, decider: DeciderName): Take {
  const { outcome } = (DECIDERS.node.safeParse(decider).success ? DECISIONS.node : DECISIONS.cluster).shape;
  const decisions = metrics.count('decisions_total', 'Decisions, by what came of them.', {
    decider: [decider],
    outcome: outcome.options,
  });
  const verdicts = metrics.occurrences(
    'objects_judged_total',
    'Objects that were judged, each as often as it was, by what is to become of them and by which rule.',
    ['decider', 'action', 'rule'],
  );
  return (_, outputs) => {
    for (const output of outputs) {
      if (output.type !== 'fleetgc.node.decision' && output.type !== 'fleetgc.cluster.decision') continue;
      decisions.add({ decider, outcome: output.outcome });
      for (const { action, rule } of output.verdicts) verdicts.add({ decider, action, rule });
    }
  };
}

/** What only one decider, or those of clusters, can tell. */
function watchersOf(metrics: Metrics, decider: DeciderName, now: () => number): readonly Take[] {
  switch (decider) {
    case 'pressure':
      return [countReclaims(metrics)];
    case 'image-gc':
      return [countUnrelieved(metrics)];
    case 'container-gc':
      return [];
    case 'graph-gc':
    case 'pod-gc':
    case 'expiry-gc':
      return [countHeld(metrics, decider, now)];
  }
}

function countReclaims(metrics: Metrics): Take {
  const begun = metrics.occurrences('reclaims_total', 'Reclaims that began, by what called for them.', [
    'signal',
  ]);
  const wanted = metrics.count(
    'reclaim_wanted_bytes_total',
    'What reclaims wanted when they began: their target less what was available.',
    {},
  );
  return (event, outputs) => {
    if (event?.type !== 'fleetgc.node.disk-stats') return;
    for (const output of outputs) {
      if (output.type !== 'fleetgc.node.observe' || !isAtBeginning(output.reclaim)) continue;
      begun.add({ signal: output.reclaim.cause.signal });
      wanted.add({}, missingBytes(event, output));
    }
  };
}

/** 0 where inodes are wanted. */
function missingBytes({ filesystems }: DiskStats, { reclaim }: Observe): number {
  const { filesystem, resource, atLeast } = reclaim.target;
  const available = filesystems[filesystem]?.availableBytes ?? null;
  if (resource !== 'availableBytes' || available === null) return 0;
  return Math.max(0, Number(BigInt(atLeast) - BigInt(available)));
}

function countUnrelieved(metrics: Metrics): Take {
  const unrelieved = unrelievedReclaims(metrics);
  return (_, outputs) =>
    unrelieved.add({}, outputs.filter(({ type }) => type === 'fleetgc.node.pressure-unrelieved').length);
}

/** Of whoever says so: image-gc, which found nothing to remove, or the executor, which measured. */
export const unrelievedReclaims = (metrics: Metrics) =>
  metrics.count('reclaims_unrelieved_total', 'Reclaims that ended above their target.', {});

function countHeld(metrics: Metrics, decider: DeciderName, now: () => number): Take {
  const held = new HeldCount(now);
  metrics.gauge(
    'objects_held',
    'Objects of clusters that wait for somebody who approves them, by the rule that holds them.',
    ['decider', 'rule'],
    () => [...held.byRule()].map(([rule, objects]) => [{ decider, rule }, objects]),
  );
  return (event, outputs) => {
    for (const output of outputs) if (output.type === 'fleetgc.cluster.decision') held.take(event, output);
  };
}
