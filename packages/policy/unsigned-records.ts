import { counted } from '../text/counted.ts';
import type { SignatureReading } from './stored-policies.ts';

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
export const UNVERIFIED =
  'Signatures were not verified, since --trust-roots was not given: a record with a false signature is shown as if it counted.';
