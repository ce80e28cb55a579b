import type { Json } from '../mutate/json.ts';
import type { Schema } from '../mutate/schema.ts';

/** What became of one input. Whatever a target throws is a crash: what the product may refuse, the target takes for an answer. */
export interface Outcome {
  /** Whether the schema took it, or whatever decides there what is read on. */
  readonly passed: boolean;
  /** What happened that must not, a sentence; `null` where nothing did. */
  readonly effect: string | null;
}

export const PASSED: Outcome = { passed: true, effect: null };
export const REFUSED: Outcome = { passed: false, effect: null };

export type Read = (input: Json) => Outcome | Promise<Outcome>;

/** Something of the product that reads what others wrote. */
export interface Target {
  /** Who reads, for people. */
  readonly readers: readonly string[];
  /** What inputs are like. */
  readonly schema: Schema;
  /** Inputs to begin with; most of them pass. */
  readonly seeds: () => readonly Json[];
  readonly open: () => Promise<Read> | Read;
}
