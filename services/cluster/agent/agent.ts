import type { Logger } from 'pino';
import { clusterOutput, type Output } from '../../../packages/decision/handler.ts';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import { readClusterInstance } from '../../../packages/kube-api/list.ts';
import type { LogReader } from '../../../packages/log/port.ts';
import { type RetryBackoff, retried } from '../../../packages/process/backoff.ts';
import { type FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';
import type { Metrics } from '../../../packages/process/metrics.ts';
import type { Sources } from '../../../packages/process/system-sources.ts';
import type { Publisher } from '../../../packages/records/publisher.ts';
import { publishingReadable } from '../../../packages/records/readable-facts.ts';
import type { Trust } from '../../../packages/records/trust/trust.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import type { ClusterPolicyRecord } from '../../../schemas/policy/cluster-policy.ts';
import type { PolicySetOf } from '../../../schemas/policy/policy.ts';
import { selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import { type EarlierFacts, readEarlierFacts } from './earlier-facts.ts';
import { addAgentMetrics, tellWatchEnds } from './metrics.ts';
import type { AgentFact, AgentParts } from './ports.ts';
import { whatHolds } from './publish.ts';
import { type AgentFigures, type KnownGraph, Session, type SessionStart } from './session.ts';

/** For so long after a cluster went back to an older state, nothing that follows from absence is done (cluster S3). */
const WENT_BACK_FOR_MS = 600_000;
/** In the state in which it is now nothing of the cluster was seen yet. */
const NOTHING_SEEN: EarlierFacts['newest'] = new Map();
const BACKOFF: RetryBackoff = { firstMs: 1_000, mostMs: 30_000 };

type LookedAround = Pick<SessionStart, 'clusterInstance' | 'earlierFacts'>;

/** Follows one cluster: what of its owner graph may call for something is published. */
export class ClusterAgent {
  readonly #cluster: string;
  readonly #parts: AgentParts;
  #session: Session | null = null;

  constructor(cluster: string, parts: AgentParts) {
    this.#cluster = cluster;
    this.#parts = parts;
  }

  /** `null` before the API server has said which cluster it is. */
  get figures(): AgentFigures | null {
    return this.#session?.figures ?? null;
  }

  /** The owner graph as it is known now; `null` while nothing may be concluded from it (cluster I10). */
  current(): KnownGraph | null {
    return this.#session?.known() ?? null;
  }

  /** Why it cannot do its work at the moment, in a sentence; `null` when it can. */
  problem(): string | null {
    const { connection, nowMs } = this.#parts;
    if (this.#session === null) return 'the API server has not said yet which cluster it is';
    if (connection.clock.at(nowMs()) === null)
      return 'the API server has not answered for a minute, or its clock was set';
    return this.#session.isReady ? null : 'what the cluster holds is being read for the first time';
  }

  /** Until the signal aborts. Rejects with what no retry mends. */
  async run(signal: AbortSignal): Promise<void> {
    let wentBackUntilMs: number | null = null;
    while (!signal.aborted) {
      const start = await this.#lookAround(signal);
      if (start === null) return;
      this.#session = this.#begin(
        wentBackUntilMs === null
          ? { ...start, wentBackUntilMs: this.#restoredUntilMs(start.earlierFacts) }
          : { ...start, earlierFacts: { ...start.earlierFacts, newest: NOTHING_SEEN }, wentBackUntilMs },
      );
      if ((await this.#session.run(signal)) === 'went-back') {
        wentBackUntilMs = this.#parts.nowMs() + WENT_BACK_FOR_MS;
        this.#parts.logger.error(
          'the cluster is in an older state than before: it was restored, and all is read anew',
        );
      }
    }
  }

  /** An earlier agent may have found that the cluster was restored, and told so a short time ago. */
  #restoredUntilMs({ restoredAtMs }: EarlierFacts): number | null {
    const { connection, nowMs } = this.#parts;
    if (restoredAtMs === null) return null;
    const serverMs = connection.clock.at(nowMs())?.earliestMs ?? restoredAtMs;
    const leftMs = restoredAtMs + WENT_BACK_FOR_MS - serverMs;
    return leftMs > 0 ? nowMs() + Math.min(leftMs, WENT_BACK_FOR_MS) : null;
  }

  #begin(start: Omit<SessionStart, 'cluster' | 'session'>): Session {
    return new Session(this.#parts, { ...start, cluster: this.#cluster, session: this.#parts.newId() });
  }

  /** Asks the API server and the event log until both have answered; `null` when the signal aborted first. */
  async #lookAround(signal: AbortSignal): Promise<LookedAround | null> {
    const { connection, earlierFacts } = this.#parts;
    try {
      const clusterInstance = await this.#retried(
        'the API server cannot be asked which cluster it is',
        () => readClusterInstance(connection, signal),
        signal,
      );
      const earlier = await this.#retried(
        'what was told of the cluster before cannot be read from the event log',
        () => earlierFacts(clusterInstance, signal),
        signal,
      );
      return { clusterInstance, earlierFacts: earlier };
    } catch (error) {
      if (signal.aborted) return null;
      throw error;
    }
  }

  #retried<T>(problem: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { sleep, random, logger } = this.#parts;
    const onFailure = (error: FleetGcError): void => logger.warn({ err: error }, problem);
    return retried(work, { backoff: BACKOFF, sleep, random, onFailure }, signal);
  }
}

interface ClusterAgentDeps {
  readonly cluster: string;
  readonly connection: ApiConnection;
  readonly publisher: Publisher;
  readonly log: LogReader;
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
