import type { EventLogContext } from '../context.ts';
import type { SliceHandler, Subscription } from '../port.ts';
import type { Changes } from './changes.ts';
import type { Database } from './database.ts';
import type { Ends } from './ends.ts';
import type { Position } from './positions.ts';

/** What belongs to the open log. */
export interface EmbeddedCore {
  readonly database: Database;
  readonly changes: Changes;
  readonly ends: Ends;
  readonly context: EventLogContext;
}

/** A subscription as its member serves it. */
export interface Membership {
  readonly core: EmbeddedCore;
  readonly subscription: Subscription;
  readonly handle: SliceHandler;
  readonly member: string;
  /** Aborts when the subscription is to stop: nothing new is begun. */
  readonly stopping: AbortSignal;
  /** A failure to show, or null after a success. */
  readonly report: (problem: string | null) => void;
}

/** The time during which a member owns its group. */
export interface Tenure extends Membership {
  readonly positions: readonly Position[];
  /** Aborts when the group was lost or a stop took too long: handlers return, and nothing is committed. */
  readonly over: AbortSignal;
  /** Aborts with `over` or with `stopping`: no further slice is begun. */
  readonly ending: AbortSignal;
  /** Ends the tenure with the failure that ended it. */
  readonly fail: (error: unknown) => void;
}
