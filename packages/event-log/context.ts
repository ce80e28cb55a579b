import type { Logger } from 'pino';

/** What an adapter needs from outside. */
export interface EventLogContext {
  readonly logger: Logger;
  /** Epoch milliseconds. On the embedded log this is the clock of LogAppendTime and of leases. */
  readonly now: () => number;
  /** 0 <= number < 1, for jitter. */
  readonly random: () => number;
  /** A new unique id, such as a UUID: members and passing groups are named by it. */
  readonly newId: () => string;
}
