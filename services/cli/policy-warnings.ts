import type { Logger } from 'pino';
import { isPauseKey } from '../../schemas/policy.ts';
import { selectorText } from '../policy/selector-text.ts';
import type { StoredPolicies } from '../policy/stored-policies.ts';

/** An unreadable record holds up every node that it might select until somebody acts. */
export function warnOfUnreadable({ unreadable }: StoredPolicies, logger: Logger): void {
  for (const { key, message, hold } of unreadable) {
    const whom = hold === null ? 'any node' : selectorText(hold.selector);
    logger.warn(`${message}. Nothing is removed on ${whom} until ${remedy(key)}.`);
  }
}

const remedy = (key: string): string =>
  isPauseKey(key)
    ? 'fleetgc resume ends this pause'
    : `it is applied anew, or deleted with fleetgc policy delete "${key}"`;
