import type { Logger } from 'pino';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import { backoffMs, type RetryBackoff, type Sleep } from '../../../packages/process/backoff.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { ClusterInstant } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import type { Ownership } from '../../../schemas/events/ownership.ts';
import type { Pods } from '../../../schemas/events/pods.ts';

/** What an agent tells of its cluster. */
export type AgentFact = Ownership | Pods;

export interface PublishingParts {
  readonly connection: Pick<ApiConnection, 'clock'>;
  /** Resolves when the fact is acknowledged. */
  readonly publish: (fact: AgentFact) => Promise<void>;
  readonly sleep: Sleep;
  readonly random: () => number;
  readonly newId: () => string;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
  readonly logger: Logger;
}

/** Whose facts they are. */
export interface FactOrigin extends ClusterIdentity {
  readonly session: string;
}

const BACKOFF: RetryBackoff = { firstMs: 500, mostMs: 30_000 };

/** Facts of one kind, counted in the order in which they are published. */
export class FactPublishing {
  readonly #parts: PublishingParts;
  readonly #origin: FactOrigin;
  #seq = 0;

  constructor(parts: PublishingParts, { cluster, clusterInstance, session }: FactOrigin) {
    this.#parts = parts;
    this.#origin = { cluster, clusterInstance, session };
  }

  /** `null` while the API server's time is not known: then nothing is published. */
  takenAt(): ClusterInstant | null {
    const time = this.#parts.connection.clock.at(this.#parts.nowMs());
    return time && { serverMs: time.earliestMs, spreadMs: time.latestMs - time.earliestMs };
  }

  /** What every fact begins with; each is counted. */
  header(takenAt: ClusterInstant) {
    return { version: 1 as const, id: this.#parts.newId(), ...this.#origin, seq: this.#seq++, takenAt };
  }

  /** What cannot be published waits, and so does what comes after it. */
  async untilDone(fact: AgentFact, signal: AbortSignal): Promise<void> {
    const { publish, sleep, random, logger } = this.#parts;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        await publish(fact);
        return;
      } catch (error) {
        const foreseen = toFleetGcError(error);
        if (!foreseen.retry) throw foreseen;
        logger.warn({ err: foreseen }, 'candidates cannot be published; they wait');
        await sleep(backoffMs(BACKOFF, attempt, random), signal);
      }
    }
  }
}
