import type { Logger } from 'pino';
import type { StoredPolicies } from '../policy/stored-policies.ts';

/** An unreadable record might select any node, so it holds up the whole fleet until somebody acts. */
export function warnOfUnreadable({ unreadable }: StoredPolicies, logger: Logger): void {
  for (const { key, message } of unreadable) {
    logger.warn(
      `${message}. No node gets a command until it is applied anew, or deleted with fleetgc policy delete "${key}".`,
    );
  }
}
