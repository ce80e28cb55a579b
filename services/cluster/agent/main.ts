import type { Logger } from 'pino';
import { clusterOutput, type Output } from '../../../packages/decision/handler.ts';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import type { EventLog } from '../../../packages/log/port.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { Metrics } from '../../../packages/process/metrics.ts';
import type { Sources } from '../../../packages/process/system-sources.ts';
import type { Publisher } from '../../../packages/records/publisher.ts';
import { publishingReadable } from '../../../packages/records/readable-facts.ts';
import type { Trust } from '../../../packages/records/trust/trust.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import type { ClusterPolicyRecord } from '../../../schemas/policy/cluster-policy.ts';
import type { PolicySetOf } from '../../../schemas/policy/policy.ts';
import { selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import { ClusterAgent } from './agent.ts';
import { addAgentMetrics, tellWatchEnds } from './agent-metrics.ts';
import type { AgentFact } from './agent-parts.ts';
import { whatHolds } from './candidates/what-holds.ts';
import { readEarlierFacts } from './read-earlier-facts.ts';

export interface ClusterAgentDeps {
  readonly cluster: string;
  readonly connection: ApiConnection;
  readonly publisher: Publisher;
  readonly log: Pick<EventLog, 'read'>;
  /** Throws `POLICIES_UNREADABLE` while nobody can tell. */
  readonly policies: () => PolicySetOf<'cluster'>;
  readonly trust: Trust;
  readonly sources: Sources;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** An agent whose facts go to the event log. It follows its cluster while its `run` does. */
export function createClusterAgent(deps: ClusterAgentDeps): ClusterAgent {
  const { cluster, connection, publisher, policies, log, trust, sources, metrics, logger } = deps;
  const publish = publishingReadable(publisher, metrics);
  const agent = new ClusterAgent(cluster, {
    connection,
    publish: (fact) => publish([outputOf(fact)]),
    policy: () => policyInForce(policies, cluster),
    earlierFacts: (clusterInstance, signal) =>
      readEarlierFacts({ identity: { cluster, clusterInstance }, log, trust }, signal),
    holds: (identity, atMs) => holdsNow(deps.policies, identity, atMs),
    onWatchEnded: tellWatchEnds(metrics, logger),
    sleep: sources.wait,
    random: sources.random,
    newId: sources.newId,
    nowMs: sources.monotonicNow,
    logger,
  });
  addAgentMetrics(metrics, { agent, clock: connection.clock, nowMs: sources.monotonicNow });
  return agent;
}

function outputOf(fact: AgentFact): Output {
  switch (fact.type) {
    case 'fleetgc.cluster.ownership':
      return clusterOutput('clusterOwnership', fact);
    case 'fleetgc.cluster.expiry':
      return clusterOutput('clusterExpiry', fact);
    case 'fleetgc.cluster.census':
      return clusterOutput('clusterCensus', fact);
    case 'fleetgc.cluster.pods':
      return clusterOutput('clusterPods', fact);
  }
}

/** Followed only to publish less, or again what may be decided otherwise now. */
function policyInForce(policies: ClusterAgentDeps['policies'], cluster: string): ClusterPolicyRecord | null {
  const current = whereReadable(policies);
  const selection = current && selectPolicy(current, { cluster });
  return selection?.kind === 'policy' ? selection.record : null;
}

function holdsNow(
  policies: ClusterAgentDeps['policies'],
  identity: ClusterIdentity,
  atMs: number,
): string | null {
  const current = whereReadable(policies);
  return current && whatHolds(current, identity, atMs);
}

/** `null` while nobody can tell. */
function whereReadable(policies: ClusterAgentDeps['policies']): PolicySetOf<'cluster'> | null {
  try {
    return policies();
  } catch (error) {
    if (toFleetGcError(error).code === 'POLICIES_UNREADABLE') return null;
    throw error;
  }
}
