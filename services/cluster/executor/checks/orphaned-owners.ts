import type { Logger } from 'pino';
import { HOUR_MS } from '../../../../packages/process/durations.ts';
import type { ClusterAction } from '../../../../schemas/events/cluster-command.ts';
import { ORPHAN } from '../../../../schemas/events/cluster-objects.ts';

/** Of those that went: as many as an agent remembers (`packages/owner-graph/gone-objects.ts`). */
const MAX_OWNERS = 10_000;
/** Beyond so many orders in an hour it is not told apart any more which owners they name. */
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
