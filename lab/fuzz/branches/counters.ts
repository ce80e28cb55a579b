/** Branches that all sources together may have. */
const MOST_BRANCHES = 1 << 17;

/** What instrumented sources count in. `hits` is of the run in hand, and `touched` has each branch of it once. */
export interface Counters {
  readonly hits: Uint32Array;
  readonly touched: number[];
}

declare global {
  var fleetgcFuzz: Counters | undefined;
}

/** By this name the sources find them. */
export const installCounters = (): Counters =>
  (globalThis.fleetgcFuzz ??= { hits: new Uint32Array(MOST_BRANCHES), touched: [] });
