import { nodeKey } from '../../../schemas/events/identity.ts';
import type { FleetNodes } from '../../../schemas/reports/fleet-nodes.ts';
import type { Held } from '../projection/held.ts';
import { type Grouping, groupOf } from './fleet.ts';
import { type SummedImages, sumImages } from './images.ts';

const FRESH_MS = 10_000;
const MOST_REMEMBERED = 8;

/** Nodes of one cluster, pool or policy. */
export interface NodeGroup {
  readonly by: Grouping;
  readonly of: string;
}

interface Remembered {
  readonly atMs: number;
  readonly summed: SummedImages;
  /** Of the same group, but of them nothing is summed up. */
  readonly nodesNotCounted: number;
}

/** Sums up the images of a part of the fleet, at most every few seconds. */
export class SummedOnce {
  readonly #now: () => number;
  readonly #remembered = new Map<string, Remembered>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** `group` is `null` for every node. */
  of(held: Held, nodes: () => FleetNodes, group: NodeGroup | null): Remembered {
    const key = JSON.stringify(group);
    const known = this.#remembered.get(key);
    const nowMs = this.#now();
    if (known !== undefined && nowMs - known.atMs < FRESH_MS) return known;
    const asked = keysOf(nodes(), group);
    const summed = sumImages(held, group === null ? undefined : (node) => asked.has(node));
    const counted = new Set(held.all().map(({ node }) => node));
    const nodesNotCounted = [...asked].filter((node) => !counted.has(node)).length;
    const remembered = { atMs: nowMs, summed, nodesNotCounted };
    this.#remembered.delete(key);
    this.#remembered.set(key, remembered);
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > MOST_REMEMBERED && oldest !== undefined) this.#remembered.delete(oldest);
    return remembered;
  }
}

const keysOf = ({ nodes }: FleetNodes, group: NodeGroup | null): ReadonlySet<string> =>
  new Set(nodes.filter((node) => group === null || groupOf(node, group.by) === group.of).map(nodeKey));
