import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';

/** What stands before the 32 bytes of an Ed25519 key in PKCS #8. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The same key for the same name, for ever. It is for tests: anybody can make it. */
export function seededKeyPair(name: string): {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
} {
  const seed = createHash('sha256').update(`fleetgc test key ${name}`).digest();
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' });
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

/** As `keys create` writes it. */
export const seededPem = (name: string): string =>
  seededKeyPair(name).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
