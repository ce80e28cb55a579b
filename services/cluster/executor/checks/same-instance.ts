import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';
import { readClusterInstance } from '../../../../packages/kube-api/list.ts';
import type { Sleep } from '../../../../packages/process/backoff.ts';
import { FleetGcError, toFleetGcError } from '../../../../packages/process/errors.ts';
import type { ClusterIdentity } from '../../../../schemas/events/identity.ts';
import { Proofs } from './proofs.ts';
import { refused, type Stop } from './stop.ts';

const SAME = 'same';
/** How often it is asked where nothing is to be done. */
const LOOK_EVERY_MS = 10_000;

/**
 * Whether the API server is still that of the cluster whose orders are carried out: behind one address another cluster can come up.
 * What was found to be another one stays so.
 */
export class SameInstance {
  readonly #identity: ClusterIdentity;
  readonly #nowMs: () => number;
  readonly #proofs: Proofs<true>;
  #other: string | null = null;

  constructor(identity: ClusterIdentity, nowMs: () => number) {
    this.#identity = identity;
    this.#nowMs = nowMs;
    this.#proofs = new Proofs(nowMs);
  }

  /** Why nothing may be done there. Rejects where the API server does not tell. */
  async objection(connection: ApiConnection): Promise<Stop | null> {
    await this.#proofs.obtain(SAME, () => this.#ask(connection));
    return this.#other === null ? null : refused('other-instance', this.#text(this.#other));
  }

  /** Looks until the signal aborts. Rejects with `API_REPLACED` when it is another one. */
  async watch(connection: ApiConnection, sleep: Sleep, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#ask(connection).catch(notNow);
      if (this.#other !== null) throw new FleetGcError('API_REPLACED', this.#text(this.#other));
      await sleep(LOOK_EVERY_MS, signal);
    }
  }

  async #ask(connection: ApiConnection): Promise<void> {
    const askedAtMs = this.#nowMs();
    const found = await readClusterInstance(connection);
    if (found !== this.#identity.clusterInstance) this.#other ??= found;
    else if (this.#other === null) this.#proofs.add(SAME, true, askedAtMs);
  }

  #text(other: string): string {
    const { cluster, clusterInstance } = this.#identity;
    return `the API server is that of another cluster now (kube-system ${other}), and the orders are about ${cluster} (kube-system ${clusterInstance}); started again, this executor works for the other one`;
  }
}

/** An API server that is away is no other one. */
function notNow(error: unknown): void {
  const foreseen = toFleetGcError(error);
  if (!foreseen.retry) throw foreseen;
}
