import type { ChaosBroker } from './broker/broker.ts';
import type { ImageSource } from './fleet/image-source.ts';
import type { Violation } from './judge/evidence.ts';

export interface Counts {
  readonly faults: number;
  readonly commands: number;
  readonly results: number;
  readonly removals: number;
  readonly starts: number;
  /** Messages that no key signed which counted. */
  readonly distrusted: number;
}

export interface RoundSettings {
  readonly broker: ChaosBroker;
  readonly program: string;
  /** Where real runtimes pull from; begun by the first round that has any. */
  readonly images: () => Promise<ImageSource>;
  /** For everything that the round leaves behind. */
  readonly directory: string;
  /** Ends the round where it stands. */
  readonly signal: AbortSignal;
}

/** What came of a round that could be carried out. */
export interface PlayedRound {
  readonly violations: readonly Violation[];
  readonly counts: Counts;
  readonly settledMs: number | null;
}
