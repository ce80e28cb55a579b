import type { ClusterAction } from '../../../schemas/events/cluster-command.ts';
import { ORPHAN } from '../../../schemas/events/cluster-objects.ts';

/** As many as an agent remembers (`packages/owner-graph/gone-objects.ts`). */
const MAX_OWNERS = 10_000;

/**
 * Owners that this executor was ordered to let go so that their dependents stay (cluster E3, S6). Without the owner graph nobody else
 * tells it how an owner went, and who orders that one goes too early shall not have its dependents after it.
 */
export class OrphanedOwners {
  readonly #uids: Set<string>;

  constructor(before: Iterable<string>) {
    this.#uids = new Set(before);
  }

  /** Whatever comes of the order: in an earlier life it may have been carried out. */
  ordered(uid: string, act: ClusterAction): void {
    if (act.action !== 'finish' || act.finalizer !== ORPHAN) return;
    this.#uids.delete(uid);
    this.#uids.add(uid);
    const [oldest] = this.#uids;
    if (this.#uids.size > MAX_OWNERS && oldest !== undefined) this.#uids.delete(oldest);
  }

  has(uid: string): boolean {
    return this.#uids.has(uid);
  }
}
