import type { Logger } from 'pino';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import type { ObjectForm, ObjectMetadata } from '../../../packages/kube-api/metadata.ts';
import { HOUR_MS } from '../../../packages/process/durations.ts';
import type { ClusterAction, RemovePodAction } from '../../../schemas/events/cluster-command.ts';
import { ORPHAN, type ServedKind } from '../../../schemas/events/cluster-objects.ts';
import type { ApprovalRecord } from '../../../schemas/policy/approval.ts';
import type { ClusterPolicyRecord } from '../../../schemas/policy/cluster-policy.ts';
import type { LiveReads } from './live-reads.ts';
import { failed, later, type Order, type Stop, settled } from './order.ts';
import type { IndexSource } from './ports.ts';
import type { RemovalCounts } from './rates.ts';

/** Under what an order may be carried out now. */
export interface Permission {
  readonly record: ClusterPolicyRecord;
  /** Those in force; none while nobody knows what time it is there (cluster S7). */
  readonly approvals: readonly ApprovalRecord[];
}

/** What an order is judged with. */
export interface Asked extends Permission {
  readonly order: Order;
  /** The kind of its object, as it is served. */
  readonly kind: ServedKind;
  readonly reads: LiveReads;
  readonly clock: ApiConnection['clock'];
  /** Nothing that was read before counts: an earlier try failed, or somebody changed the object. */
  readonly isFresh: boolean;
  /** `null` where the process has no graph of the cluster. */
  readonly index: IndexSource | null;
  readonly removals: RemovalCounts;
  readonly orphaned: OrphanedOwners;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
}

/** How a pod is marked before it goes. */
export interface PodMark {
  /** What its condition of that name says; `null` for a pod that gets none. */
  readonly disruption: { readonly reason: string; readonly message: string; readonly atMs: number } | null;
  /** Which generation of the pod that is said of; `null` where the API server counts none. */
  readonly observedGeneration: number | null;
}

export interface PodRemoval extends RemovePodAction {
  /** `null` for a pod that has ended by itself. */
  readonly mark: PodMark | null;
}

/** What is to be done, with what the judgement found. */
export type JudgedAction = Exclude<ClusterAction, RemovePodAction> | PodRemoval;

/** What follows from the live state: this, to this object. */
export interface Judgement extends Permission {
  readonly kind: ServedKind;
  readonly object: ObjectMetadata;
  readonly action: JudgedAction;
  /** What limits it counts for when it goes, by their keys (cluster S1). */
  readonly countsFor: readonly string[];
  /** How many like it may go in an hour, beside the limit for all; `null` for no such limit (cluster S10). */
  readonly within: { readonly key: string; readonly limit: number } | null;
}

/** How long a clock is waited for that cannot be believed. */
const CLOCK_WAIT_MS = 1_000;
export const clockUnbelieved = (): Stop =>
  later('unreachable', "the API server's clock cannot be believed now", CLOCK_WAIT_MS);

const FORBIDDEN = 403;
/** Of an answer from which nothing follows. */
const unreadable = (status: number, message: string): Stop =>
  status === FORBIDDEN ? failed({ reason: 'forbidden', message }) : later('api-server-error', message);

/** The object of an order as the API server has it now. Where it is gone, or another has its name, nothing is left to do. */
export async function liveObject<Seen extends ObjectMetadata>(
  { order, kind, reads }: Asked,
  form: ObjectForm<Seen>,
): Promise<Seen | Stop> {
  const { object: ordered } = order.item;
  const live = await reads.whole({ kind, named: ordered }, form);
  switch (live.kind) {
    case 'found':
      return live.object.uid === ordered.uid ? live.object : settled({ outcome: 'not-found' });
    case 'absent':
      return settled({ outcome: 'not-found' });
    case 'unknown':
      return unreadable(live.answer.status, live.message);
  }
}

/** Of those that went: as many as an agent remembers (`packages/owner-graph/gone-objects.ts`). */
const MAX_OWNERS = 10_000;
/**
 * Beyond so many orders in an hour it is not told apart any more which owners they name.
 * @limit Owners whose deletion an executor remembers for an hour. With more, it deletes no dependents of absent owners.
 */
const MAX_ORDERED = 100_000;

interface OrphanedOwnersParts {
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
  readonly logger: Pick<Logger, 'error'>;
}

/**
 * Owners that this executor was ordered to let go so that their dependents stay (cluster E3, S6). Without the owner graph nobody else
 * tells it how an owner went, and who orders that one goes too early shall not have its dependents after it. An order alone counts for
 * an hour, so that nobody keeps for good what is to go; and no number of orders has one forgotten sooner.
 */
export class OrphanedOwners {
  readonly #parts: OrphanedOwnersParts;
  readonly #letGo = new Set<string>();
  /** When it was ordered last, by uid and in order of time. */
  readonly #orderedAtMs = new Map<string, number>();
  #fullUntilMs = Number.NEGATIVE_INFINITY;

  /** `before`: those of an earlier life of the executor. */
  constructor(before: Iterable<string>, parts: OrphanedOwnersParts) {
    this.#parts = parts;
    for (const uid of before) this.#remember(uid);
  }

  /** Whatever comes of the order: in an earlier life it may have been carried out. */
  ordered(uid: string, act: ClusterAction): void {
    if (isOrphaning(act)) this.#remember(uid);
  }

  /** It was carried out. */
  wasLetGo(uid: string, act: ClusterAction): void {
    if (!isOrphaning(act)) return;
    this.#letGo.delete(uid);
    this.#letGo.add(uid);
    const [oldest] = this.#letGo;
    if (this.#letGo.size > MAX_OWNERS && oldest !== undefined) this.#letGo.delete(oldest);
  }

  /** Whether it may be one of them. */
  has(uid: string): boolean {
    const nowMs = this.#parts.nowMs();
    const orderedAtMs = this.#orderedAtMs.get(uid) ?? Number.NEGATIVE_INFINITY;
    return this.#letGo.has(uid) || nowMs - orderedAtMs < HOUR_MS || nowMs < this.#fullUntilMs;
  }

  #remember(uid: string): void {
    const nowMs = this.#parts.nowMs();
    for (const [each, atMs] of this.#orderedAtMs) {
      if (nowMs - atMs < HOUR_MS) break;
      this.#orderedAtMs.delete(each);
    }
    this.#orderedAtMs.delete(uid);
    if (this.#orderedAtMs.size < MAX_ORDERED) {
      this.#orderedAtMs.set(uid, nowMs);
      return;
    }
    if (nowMs >= this.#fullUntilMs)
      this.#parts.logger.error(
        `in an hour it was ordered of more than ${MAX_ORDERED} owners that they go and their dependents stay, so nothing is deleted whose owner is absent until that is an hour ago; look at who writes commands`,
      );
    this.#fullUntilMs = nowMs + HOUR_MS;
  }
}

const isOrphaning = (act: ClusterAction): boolean => act.action === 'finish' && act.finalizer === ORPHAN;
