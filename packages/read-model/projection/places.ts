import type { DatabaseSync } from 'node:sqlite';

/** The page is made for ten thousand nodes. */
const MOST_NODES = 50_000;
const MOST_CLUSTERS = 1_000;
/** Others are counted by their names, up to so many. */
const MOST_COUNTED = 10_000;

/**
 * Who has a place on the page. Whoever has one keeps it for as long as it is heard, so names that somebody makes up push nobody out; those
 * who find no place are counted.
 */
export class Places {
  readonly #most: number;
  readonly #taken = new Map<string, number>();
  readonly #others = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether there is a place for whoever has this name, and was heard at this time. */
  admits(name: string, heardMs: number): boolean {
    const before = this.#taken.get(name);
    if (before === undefined && this.#taken.size >= this.#most) {
      this.leaveOut(name, heardMs);
      return false;
    }
    this.#taken.set(name, Math.max(before ?? 0, heardMs));
    return true;
  }

  /** There is no place for it, whoever else is there. */
  leaveOut(name: string, heardMs: number): void {
    if (this.#others.size < MOST_COUNTED || this.#others.has(name)) this.#others.set(name, heardMs);
  }

  /** How many have no place; of very many at least so many. */
  get others(): number {
    return this.#others.size;
  }

  /** Places of those that were not heard since are free. */
  forgetBefore(ms: number): void {
    for (const names of [this.#taken, this.#others])
      for (const [name, heardMs] of names) if (heardMs < ms) names.delete(name);
    for (const name of this.#taken.keys()) this.#others.delete(name);
  }

  clear(): void {
    this.#taken.clear();
    this.#others.clear();
  }
}

/** Of nodes and of clusters apart. */
export class FleetPlaces {
  readonly node: Places;
  readonly cluster: Places;

  constructor(most = { nodes: MOST_NODES, clusters: MOST_CLUSTERS }) {
    this.node = new Places(most.nodes);
    this.cluster = new Places(most.clusters);
  }

  /** Those that were told before this process began have theirs first. */
  recall(db: DatabaseSync): void {
    for (const { table, name, places } of [
      { table: 'nodes', name: 'node', places: this.node },
      { table: 'inventories', name: 'node', places: this.node },
      { table: 'censuses', name: 'cluster', places: this.cluster },
    ])
      for (const row of db.prepare(`SELECT ${name} AS name, at_ms FROM ${table} ORDER BY at_ms`).all())
        places.admits(String(row.name), Number(row.at_ms));
  }

  forgetBefore(ms: number): void {
    this.node.forgetBefore(ms);
    this.cluster.forgetBefore(ms);
  }

  clear(): void {
    this.node.clear();
    this.cluster.clear();
  }
}
