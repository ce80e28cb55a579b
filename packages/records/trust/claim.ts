import type { Headers } from '../../log/port.ts';
import { type Distrust, distrustOf } from './distrust.ts';
import type { CertifiedKey, KeyRing } from './key-ring.ts';
import { claimedSignature, type Signature } from './signature.ts';

/** Whose signature a record claims to have, where it may count. */
export type Claim =
  | { readonly signature: Signature; readonly key: CertifiedKey; readonly ring: KeyRing }
  | { readonly distrust: Distrust };

/** By the headers alone; nothing is verified yet. `ring` is asked only where there is a signature. Throws as it does. */
export function claimIn(headers: Headers, ring: () => KeyRing): Claim {
  const claimed = claimedSignature(headers);
  if (claimed.kind === 'none') return { distrust: distrustOf('unsigned', 'it carries no signature') };
  if (claimed.kind === 'malformed')
    return { distrust: distrustOf('malformed', 'its signature is malformed') };
  const { signature } = claimed;
  const known = ring();
  const key = known.find(signature.keyId);
  return key === undefined
    ? { distrust: distrustOf('stranger', `no root vouches for its key ${signature.keyId}`) }
    : { signature, key, ring: known };
}
