import type { EventLogOptions } from '../../../packages/event-log/open.ts';
import type { TimeRange } from '../../../packages/pipeline/read-log.ts';
import type { ErrorCode } from '../../../packages/process/error-codes.ts';
import type { Found } from './collect.ts';
import type { PartitionProgress } from './verify-partition.ts';

/** What is verified: an event log, or the archive in a directory. */
export type WorkerSource =
  | { readonly kind: 'log'; readonly settings: EventLogOptions }
  | { readonly kind: 'archive'; readonly directory: string };

/** What a thread needs to verify partitions: it opens its source by itself. */
export interface WorkerTask {
  readonly source: WorkerSource;
  readonly range: TimeRange;
  readonly nowMs: number;
}

/** To a thread: the next partition, or to close what it has open and end. */
export type WorkerOrder = { readonly kind: 'verify'; readonly partition: number } | { readonly kind: 'end' };

/** From a thread, about the partition in hand. */
export type WorkerAnswer =
  | { readonly kind: 'progress'; readonly progress: PartitionProgress }
  | { readonly kind: 'found'; readonly found: Found }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string };
