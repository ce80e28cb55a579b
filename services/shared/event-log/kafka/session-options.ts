import type { SliceHandler, Subscription } from '../port.ts';
import type { Standing } from '../supervisor.ts';
import type { Connections } from './connections.ts';
import type { KafkaCore } from './core.ts';

/** One stay in the group, from joining to leaving. */
export interface SessionOptions {
  readonly connections: Connections;
  readonly subscription: Subscription;
  readonly handle: SliceHandler;
  readonly core: KafkaCore;
  readonly standing: Standing;
  readonly stopping: AbortSignal;
  /** By partition: handlers that had not returned when their partition was lost. */
  readonly stragglers: Map<string, Promise<void>>;
}
