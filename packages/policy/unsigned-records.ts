import type { Logger } from 'pino';
import { isPauseKey } from '../../schemas/policy/policy.ts';
import { counted } from '../text/counted.ts';
import { deleteCommand } from './ending-commands.ts';
import { lossProblem } from './policy-knowledge.ts';
import { selectorText } from './selector-text.ts';
import type { SignatureReading, StoredPolicies } from './stored-policies.ts';

const MOST_NAMED = 3;

/** What parts with `--trust required` do not trust of what is shown, in a sentence; `null` where that is nothing. */
export function unsignedProblem(signatures: SignatureReading): string | null {
  if (signatures.kind === 'judged' || !signatures.isFleetSigned || signatures.unsigned.length === 0)
    return null;
  const { unsigned } = signatures;
  const names = unsigned.slice(0, MOST_NAMED).map((key) => JSON.stringify(key));
  const more = unsigned.length > MOST_NAMED ? ` and ${unsigned.length - MOST_NAMED} more` : '';
  return `${counted(unsigned.length, 'record')} of gc.policies without a signature, although this fleet has signing keys: ${names.join(', ')}${more}. Nodes and services with --trust required do not trust this and remove nothing. Write it again with a key, or sign it: fleetgc policy sign. --trust-roots shows what counts`;
}

/** Said where nothing is verified and so nothing can be told apart. */
const UNVERIFIED =
  'Signatures were not verified, since --trust-roots was not given: a record with a false signature is shown as if it counted.';

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
