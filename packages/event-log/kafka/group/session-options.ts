import type { SliceHandler, Subscription } from '../../port.ts';
import type { MemberState } from '../../subscription.ts';
import type { Connections } from '../client/connections.ts';
import type { KafkaCore } from '../client/core.ts';
import type { FormerMember } from './former-member.ts';

/** One stay in the group, from joining to leaving. */
export interface SessionOptions {
  readonly connections: Connections;
  readonly subscription: Subscription;
  readonly handle: SliceHandler;
  readonly core: KafkaCore;
  readonly state: MemberState;
  readonly stopping: AbortSignal;
  /** Outlives the session. */
  readonly former: FormerMember;
  /** By partition: handlers that had not returned when their partition was lost. */
  readonly stragglers: Map<string, Promise<void>>;
}
