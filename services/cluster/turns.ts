import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { inClusterNamespace } from '../../packages/kube-api/access.ts';
import type { ApiConnection } from '../../packages/kube-api/connection.ts';
import {
  createLease,
  type LeaseAnswer,
  type LeaseState,
  readLease,
  writeLease,
} from '../../packages/kube-api/lease.ts';
import { IN_CLUSTER } from '../../packages/kube-api/open-connection.ts';
import type { ApiObjectName } from '../../packages/kube-api/resources.ts';
import type { Sleep } from '../../packages/process/backoff.ts';
import { FleetGcError, toFleetGcError } from '../../packages/process/errors.ts';
import { runTogether } from '../../packages/process/loops.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import { leaseNamespaceOf, type TurnOptions } from './cluster-options.ts';
import type { OpenCluster } from './open-cluster.ts';

interface TurnsParts {
  readonly connection: ApiConnection;
  readonly lease: ApiObjectName;
  /** Tells this replica from all others. */
  readonly holder: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
  readonly sleep: Sleep;
  readonly logger: Logger;
}

/** @limit Lease of the active replica. Another one takes over when it expires. */
const LEASE_SECONDS = 15;
const LEASE_MS = LEASE_SECONDS * 1_000;
/** A Lease is renewed, or looked at by who waits for it, so often. */
const LOOK_EVERY_MS = 5_000;
const MOST_BETWEEN_LOOKS_MS = 10_000;
/** The API server may be away when a replica ends. */
const RELEASE_MS = 2_000;

/**
 * Which of several replicas works: the one that holds a Lease. For thrift and not for safety: two that work at once cost requests,
 * since each write is a compare and swap. So where no Lease can be had a replica works without one.
 */
export class Turns {
  readonly #parts: TurnsParts;
  /** As it was read last, and since when it is so. */
  #seen: (LeaseState & { readonly sinceMs: number }) | null = null;
  /** Why there is no Lease, in a sentence; `null` where there is one, or nobody has said. */
  #without: string | null = null;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #refusedSinceMs: number | null = null;
  #isMine = false;

  constructor(parts: TurnsParts) {
    this.#parts = parts;
  }

  /** Whether this replica works. */
  get isMine(): boolean {
    return this.#isMine;
  }

  /** What is well and worth knowing, in a sentence; `null` for nothing. */
  notice(): string | null {
    if (this.#without !== null) return `it works without a Lease: ${this.#without}`;
    if (this.#isMine) return null;
    return `another replica works, and this one stands by${this.#seen === null ? '' : `: ${this.#seen.holder}`}`;
  }

  /**
   * Works when its turn comes, until the signal aborts. Rejects with `LEASE_LOST` when another replica took over meanwhile, and
   * with what the work rejects with.
   */
  async run(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { sleep, logger } = this.#parts;
    for (let looks = 0; !signal.aborted && !(await this.#look(signal)); looks++) {
      if (looks === 0)
        logger.info({ holder: this.#seen?.holder }, 'another replica works: this one stands by');
      await sleep(LOOK_EVERY_MS, signal);
    }
    if (signal.aborted) return;
    logger.info({ ...this.#parts.lease }, 'this replica works');
    try {
      await runTogether([work, (stop) => this.#hold(stop)], signal);
    } finally {
      await this.#release();
    }
  }

  async #hold(signal: AbortSignal): Promise<void> {
    const { sleep } = this.#parts;
    while (!signal.aborted) {
      await sleep(LOOK_EVERY_MS, signal);
      if (!signal.aborted && !(await this.#look(signal))) throw this.#lost();
    }
  }

  /** Whether it is this replica's turn. While the API server gives no answer, it is as it was. */
  async #look(signal: AbortSignal): Promise<boolean> {
    try {
      this.#isMine = this.#after(await this.#claim(signal));
    } catch (error) {
      const foreseen = toFleetGcError(error);
      if (!foreseen.retry) throw foreseen;
    }
    return this.#isMine;
  }

  /** Takes the Lease if it is free, or renews it; what was seen of it is noted. */
  async #claim(signal: AbortSignal): Promise<LeaseAnswer> {
    const { connection, lease, holder, now } = this.#parts;
    const read = await readLease(connection, lease, signal);
    const claim = { holder, durationSeconds: LEASE_SECONDS, nowMs: now() };
    if (read.kind === 'absent') return this.#noted(await createLease(connection, lease, claim, signal));
    const found = this.#noted(read);
    if (found.kind !== 'lease' || !this.#isFree(found.state)) return found;
    return this.#noted(await writeLease(connection, lease, { state: found.state, claim }, signal));
  }

  #isFree({ holder }: LeaseState): boolean {
    if (holder === '' || holder === this.#parts.holder) return true;
    return this.#seen !== null && this.#parts.nowMs() - this.#seen.sinceMs >= LEASE_MS;
  }

  /** It counts as unchanged only for as long as it was looked at: its holder may have been cut off, too. */
  #noted(answer: LeaseAnswer): LeaseAnswer {
    if (answer.kind !== 'lease') return answer;
    const atMs = this.#parts.nowMs();
    const wasLooking = atMs - this.#lookedAtMs < MOST_BETWEEN_LOOKS_MS;
    this.#lookedAtMs = atMs;
    const isSame = answer.state.resourceVersion === this.#seen?.resourceVersion;
    if (!isSame || !wasLooking) this.#seen = { ...answer.state, sinceMs: atMs };
    return answer;
  }

  #after(answer: LeaseAnswer): boolean {
    if (answer.kind === 'refused') return this.#refused(answer);
    this.#refusedSinceMs = null;
    this.#without = null;
    return answer.kind === 'lease' ? answer.state.holder === this.#parts.holder : this.#isMine;
  }

  /** What lasts does not pass by waiting, and what passes has passed after the time of a Lease. */
  #refused({ isLasting, message }: Extract<LeaseAnswer, { kind: 'refused' }>): boolean {
    const { nowMs, logger, lease } = this.#parts;
    this.#refusedSinceMs ??= nowMs();
    if (!isLasting && nowMs() - this.#refusedSinceMs < LEASE_MS) return this.#isMine;
    const why = `the Lease ${lease.namespace}/${lease.name} cannot be had (${message})`;
    if (this.#without === null)
      logger.warn(`${why}: replicas take no turns, and this one works. That costs requests and does no harm`);
    this.#without = why;
    return true;
  }

  #lost(): FleetGcError {
    const { namespace, name } = this.#parts.lease;
    const by = this.#seen?.holder ?? '';
    return new FleetGcError(
      'LEASE_LOST',
      `another replica (${by}) has taken the Lease ${namespace}/${name}; started again, this one stands by`,
    );
  }

  /** So that the next one need not wait for its end. */
  async #release(): Promise<void> {
    const { connection, lease, sleep, now } = this.#parts;
    const seen = this.#seen;
    if (!this.#isMine || seen?.holder !== this.#parts.holder) return;
    this.#isMine = false;
    const enough = new AbortController();
    const claim = { holder: '', durationSeconds: 1, nowMs: now() };
    const released = writeLease(connection, lease, { state: seen, claim }, enough.signal).catch(
      () => undefined,
    );
    await Promise.race([released, sleep(RELEASE_MS, enough.signal)]);
    enough.abort();
  }
}

/** What takes turns in a cluster: each has a Lease of its own, called as its account is. */
const LEASES = {
  agent: 'fleetgc-cluster-agent',
  executor: 'fleetgc-cluster-executor',
  policies: 'fleetgc-policy-controller',
} as const;
type ClusterRole = keyof typeof LEASES;

interface TakingTurns {
  readonly role: ClusterRole;
  readonly process: ServiceProcess;
  readonly cluster: Pick<OpenCluster, 'connection'>;
  readonly options: TurnOptions & { readonly kubeconfig: string };
}

/** `null` where replicas are to take none. What they tell of them is in readiness and metrics. */
export function openTurns({ role, process, cluster, options }: TakingTurns): Turns | null {
  const ofPod = options.kubeconfig === IN_CLUSTER ? inClusterNamespace() : null;
  const namespace = leaseNamespaceOf(options, ofPod);
  if (namespace === null) return null;
  const { sources, logger, metrics } = process;
  const turns = new Turns({
    connection: cluster.connection,
    lease: { namespace, name: LEASES[role] },
    holder: `${hostname()}_${sources.newId()}`,
    now: sources.now,
    nowMs: sources.monotonicNow,
    sleep: sources.wait,
    logger,
  });
  process.addCheck({ name: 'lease', problem: () => null, notice: () => turns.notice() });
  metrics.gauge('cluster_working', 'Whether this replica works (1) or stands by for another (0).', [], () => [
    [{}, Number(turns.isMine)],
  ]);
  return turns;
}
