import type { Logger } from 'pino';
import { clusterOutput } from '../../packages/decision/handler.ts';
import type { ApiConnection } from '../../packages/kube-api/connection.ts';
import type { Publisher } from '../../packages/pipeline/publisher.ts';
import type { Metrics } from '../../packages/process/metrics.ts';
import type { Sources } from '../../packages/process/system-sources.ts';
import { ClusterAgent } from './agent.ts';
import { addAgentMetrics } from './agent-metrics.ts';

export interface ClusterAgentDeps {
  readonly cluster: string;
  readonly connection: ApiConnection;
  readonly publisher: Publisher;
  readonly sources: Sources;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** An agent whose facts go to the event log. It follows its cluster while its `run` does. */
export function createClusterAgent(deps: ClusterAgentDeps): ClusterAgent {
  const { cluster, connection, publisher, sources, metrics, logger } = deps;
  const agent = new ClusterAgent(cluster, {
    connection,
    publish: (fact) => publisher.publish([clusterOutput('clusterOwnership', fact)]),
    sleep: sources.wait,
    random: sources.random,
    newId: sources.newId,
    nowMs: sources.monotonicNow,
    logger,
  });
  addAgentMetrics(metrics, { agent, clock: connection.clock, nowMs: sources.monotonicNow });
  return agent;
}
