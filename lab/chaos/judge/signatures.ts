import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { LogRecord } from '../../../packages/log/port.ts';

/** Public keys of a round by their ids; those for which no root ever vouched are not among them. */
type PublicKeys = ReadonlyMap<string, KeyObject>;

export const publicKeyOf = (base64: string): KeyObject =>
  createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(base64, 'base64').toString('base64url') },
    format: 'jwk',
  });

/** The id of the key that signed the record for this fleet, where it lies; `null`: none of these did. */
export function signerOf(record: LogRecord, keys: PublicKeys, fleet: string): string | null {
  const { topic, key, value, headers } = record;
  const keyId = headers.ce_fleetgckeyid ?? '';
  const publicKey = keys.get(keyId);
  if (publicKey === undefined) return null;
  const hash = value === null ? null : createHash('sha256').update(value).digest('hex');
  const generation = headers.ce_fleetgcgeneration ?? null;
  const bytes = JSON.stringify(['fleetgc-signature-v1', fleet, topic, key, keyId, generation, hash]);
  const signature = Buffer.from(headers.ce_fleetgcsignature ?? '', 'base64');
  return verify(null, Buffer.from(bytes), publicKey, signature) ? keyId : null;
}
