import type { LogRecord } from '../../log/port.ts';
import type { KeyRing } from './key-ring.ts';
import { claimedSignature, isOfTheFuture, isSignedBy } from './signature.ts';

/**
 * What replaces something has a higher generation than all that was seen of it: the time of the signer's clock, in epoch
 * milliseconds, where that is higher. So generations grow also where nobody can ask what was there before.
 */
export const nextGeneration = (nowMs: number, highestSeen: number | undefined): number =>
  Math.max(nowMs, (highestSeen ?? 0) + 1);

/** Whether the headers name a generation, be it true or not: what names none says nothing of generations. */
export const namesGeneration = ({ headers }: Pick<LogRecord, 'headers'>): boolean =>
  headers.ce_fleetgcgeneration !== undefined;

/**
 * The generation that a key of the fleet gave to this record, also one that counts no more, or for which nobody vouches any more:
 * whoever follows may have believed it once, so that what replaces it needs a higher one. `null` where no key of the fleet did.
 */
export function provedGeneration(ring: KeyRing, record: LogRecord): number | null {
  if (!namesGeneration(record)) return null;
  const claimed = claimedSignature(record.headers);
  if (claimed.kind !== 'claimed') return null;
  const { signature } = claimed;
  const { generation } = signature;
  if (generation === null || isOfTheFuture(generation, record)) return null;
  const publicKey = ring.publicKeyOf(signature.keyId);
  return publicKey !== undefined && isSignedBy(publicKey, ring.fleet, record, signature) ? generation : null;
}
