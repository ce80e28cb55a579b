import type { FleetNodes } from '../../../schemas/reports/fleet-nodes.ts';

/** Many look at once. */
const MADE_EVERY_MS = 1_000;

/** Every node, made for all who ask within a second. */
export class NodesTold {
  readonly #make: () => FleetNodes;
  readonly #nowMs: () => number;
  #made: { readonly atMs: number; readonly nodes: FleetNodes } | null = null;

  constructor(make: () => FleetNodes, nowMs: () => number) {
    this.#make = make;
    this.#nowMs = nowMs;
  }

  lately(): FleetNodes {
    const made = this.#made;
    return made !== null && this.#nowMs() - made.atMs < MADE_EVERY_MS ? made.nodes : this.now();
  }

  /** As they are at this moment. */
  now(): FleetNodes {
    const nodes = this.#make();
    this.#made = { atMs: this.#nowMs(), nodes };
    return nodes;
  }

  clear(): void {
    this.#made = null;
  }
}
