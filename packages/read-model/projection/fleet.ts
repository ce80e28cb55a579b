import type { DatabaseSync } from 'node:sqlite';
import { zstdDecompressSync } from 'node:zlib';
import { DiskStats, type DiskStatsHead } from '../../../schemas/events/disk-stats.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import type { PressureUnrelieved } from '../../../schemas/events/result.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import type { FleetNodes } from '../../../schemas/reports/fleet-nodes.ts';
import { type NodeTrack, track } from '../../fleet-watch/node-track.ts';
import { fleetOf, type KnownNode, knownNode } from '../fleet-status/fleet-nodes.ts';
import type { ReportingNode } from '../fleet-status/reporting-nodes.ts';

/** Of so many nodes what is known is made anew before others have their turn. */
const NODES_AT_ONCE = 100;

/** The statistics of a node as they were stored. */
export function storedStats(db: DatabaseSync, node: string): DiskStats | null {
  const found = db.prepare('SELECT stats FROM nodes WHERE node = ?').get(node)?.stats;
  return found instanceof Uint8Array ? statsOf(found) : null;
}

const statsOf = (bytes: Uint8Array): DiskStats =>
  DiskStats.parse(JSON.parse(zstdDecompressSync(bytes).toString('utf8')));

type SightedNode = Pick<DiskStatsHead, 'cluster' | 'node' | 'nodeInstance' | 'takenAt'>;

/** What is known of all nodes, by the functions of `fleetgc nodes`. Of each no more is kept than is told. */
export class Fleet {
  readonly #db: DatabaseSync;
  readonly #known = new Map<string, KnownNode>();
  readonly #tracks = new Map<string, NodeTrack>();
  readonly #changed = new Set<string>();
  /** When a reclaim of a node last ended above its target. */
  readonly #unrelieved = new Map<string, number>();
  #policies: PolicySet;
  /** Records of disk statistics that nobody can read. */
  unreadable = 0;

  constructor(db: DatabaseSync, policies: PolicySet) {
    this.#db = db;
    this.#policies = policies;
  }

  /** Takes disk statistics in the order of the log, of each node; what is older than what is known says nothing. */
  heard(stats: DiskStats, loggedAtMs: number): void {
    const now = this.sighted(stats, loggedAtMs);
    if (now === null) return;
    const key = nodeKey(stats);
    this.#known.set(key, knownNode({ stats, track: now }, this.#policies));
    this.#changed.add(key);
  }

  /** A node was heard, of which more follows. `null` for what is older than what is known. */
  sighted(head: SightedNode, loggedAtMs: number): NodeTrack | null {
    const key = nodeKey(head);
    const before = this.#tracks.get(key) ?? null;
    if (before !== null && loggedAtMs < before.last.loggedAtMs) return null;
    const { nodeInstance, takenAt } = head;
    const now = track(before, { nodeInstance, takenAt, loggedAtMs });
    this.#tracks.set(key, now);
    return now;
  }

  /** A reclaim ended above its target. Of a node that is not known nothing is kept. */
  unrelieved(event: Pick<PressureUnrelieved, 'cluster' | 'node'>, loggedAtMs: number): void {
    const key = nodeKey(event);
    if (!this.#tracks.has(key) || loggedAtMs <= (this.#unrelieved.get(key) ?? 0)) return;
    this.#unrelieved.set(key, loggedAtMs);
    this.#changed.add(key);
  }

  /** What other policies make of nodes that were heard already. */
  async decidedBy(policies: PolicySet, breathe: () => Promise<void>): Promise<void> {
    this.#policies = policies;
    let made = 0;
    for (const key of [...this.#known.keys()]) {
      const stats = storedStats(this.#db, key);
      const known = this.#tracks.get(key);
      if (stats === null || known === undefined) continue;
      this.#known.set(key, knownNode({ stats, track: known }, policies));
      this.#changed.add(key);
      made += 1;
      if (made % NODES_AT_ONCE === 0) await breathe();
    }
  }

  /** Takes a node that was found as `fleetgc nodes` finds those that fell silent. */
  recalled({ stats, track: known }: Pick<ReportingNode, 'stats' | 'track'>): void {
    const key = nodeKey(stats);
    if (this.#known.has(key)) return;
    this.#tracks.set(key, known);
    this.#known.set(key, knownNode({ stats, track: known }, this.#policies));
    this.#changed.add(key);
  }

  has(key: string): boolean {
    return this.#known.has(key);
  }

  get policies(): PolicySet {
    return this.#policies;
  }

  get size(): number {
    return this.#known.size;
  }

  /** Lets go of nodes that were not heard since. */
  forgetBefore(ms: number): void {
    for (const [key, { last }] of this.#tracks)
      if (last.loggedAtMs < ms) {
        this.#known.delete(key);
        this.#tracks.delete(key);
        this.#unrelieved.delete(key);
      }
  }

  clear(): void {
    this.#known.clear();
    this.#tracks.clear();
    this.#unrelieved.clear();
    this.#changed.clear();
    this.unreadable = 0;
  }

  told(nowMs: number): FleetNodes {
    return {
      ...fleetOf([...this.#known.values()], {
        policies: this.#policies,
        nowMs,
        unrelieved: this.#unrelieved,
      }),
      unreadable: this.unreadable,
    };
  }

  /** The keys of those of which something is new since this was asked last. */
  takeChanged(): ReadonlySet<string> {
    const changed = new Set(this.#changed);
    this.#changed.clear();
    return changed;
  }
}
