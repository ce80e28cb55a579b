import { FleetGcError } from '../../packages/process/errors.ts';
import type { SimulatedNode } from '../node/node.ts';
import type { Application } from '../runtime/catalogue.ts';
import type { Random } from './random.ts';

/** Something that happened on the node, for a line of text. */
export type LifeEvent =
  | { readonly kind: 'deployed'; readonly pod: string; readonly image: string }
  | { readonly kind: 'replaced' | 'deleted' | 'crashed' | 'finished'; readonly pod: string }
  | { readonly kind: 'start-failed'; readonly image: string; readonly message: string };

export interface LifeOptions {
  readonly node: SimulatedNode;
  /** The same seed gives the same life, as long as nobody else acts on the node. */
  readonly seed: number;
  /** More pods than that are not run at a time. */
  readonly maximumPods: number;
}

/** How often in a step; logs grow in every one. */
export const CHANCE = { release: 0.6, crash: 0.35, delete: 0.08, finish: 0.08 };

/** What the steps of one node's life share. */
export interface World extends LifeOptions {
  readonly random: Random;
  /** Application to the number of its newest release. */
  readonly releases: Map<Application, number>;
  deployments: number;
}

export function startFailed(image: string, error: unknown): LifeEvent {
  if (!(error instanceof FleetGcError)) throw error;
  return { kind: 'start-failed', image, message: error.message };
}
