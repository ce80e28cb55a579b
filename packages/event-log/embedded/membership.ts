import type { EventLogContext, Subscription } from '../port.ts';
import type { Serving } from '../subscription.ts';
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

/** The time during which a member owns its group. */
export interface Tenure {
  readonly core: EmbeddedCore;
  readonly subscription: Subscription;
  readonly member: string;
  readonly positions: readonly Position[];
  readonly serving: Serving;
  /** Ends the tenure with the failure that ended it. */
  readonly fail: (error: unknown) => void;
}
