import type { Logger } from 'pino';
import { deleteCommand } from '../../../packages/policy/ending-commands.ts';
import { lossProblem } from '../../../packages/policy/policy-knowledge.ts';
import { selectorText } from '../../../packages/policy/selector-text.ts';
import type { StoredPolicies } from '../../../packages/policy/stored-policies.ts';
import { UNVERIFIED, unsignedProblem } from '../../../packages/policy/unsigned-records.ts';
import { isPauseKey } from '../../../schemas/policy/policy.ts';

/**
 * An unreadable record holds up every node that it might select until somebody acts, and what is gone holds up all. What a fleet that signs
 * would not trust is shown by a verb without roots as if it counted.
 */
export function warnOfUnreadable(
  { unreadable, unreadableApprovals, lost, signatures }: StoredPolicies,
  logger: Logger,
): void {
  for (const { key, message, hold } of unreadable) {
    const whom = hold === null ? 'any node' : selectorText(hold.selector);
    logger.warn(`${message}. Nothing is removed on ${whom} until ${remedy(key)}.`);
  }
  for (const { key, message } of unreadableApprovals)
    logger.warn(`${message}. It approves nothing. ${deleteCommand([key])} removes it.`);
  if (lost.length > 0) logger.warn(lossProblem(lost, true));
  const unsigned = unsignedProblem(signatures);
  if (unsigned !== null) logger.warn(`${unsigned}.`);
  else if (signatures.kind === 'unjudged' && signatures.isFleetSigned) logger.info(UNVERIFIED);
}

const remedy = (key: string): string =>
  isPauseKey(key)
    ? 'fleetgc resume ends this pause'
    : `it is applied anew, or deleted with fleetgc policy delete "${key}"`;
