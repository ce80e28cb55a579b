import type { ErrorCode } from '../../shared/errors.ts';
import type { EventLogOptions } from '../../shared/event-log/open.ts';
import type { TimeRange } from '../read-log.ts';
import type { Found } from './collect.ts';
import type { PartitionProgress } from './verify-partition.ts';

/** What a thread needs to verify partitions: it opens the log by itself. */
export interface WorkerTask {
  readonly settings: EventLogOptions;
  readonly range: TimeRange;
  readonly nowMs: number;
}

/** To a thread: the next partition. */
export interface WorkerOrder {
  readonly partition: number;
}

/** From a thread, about the partition in hand. */
export type WorkerAnswer =
  | { readonly kind: 'progress'; readonly progress: PartitionProgress }
  | { readonly kind: 'found'; readonly found: Found }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string };
