import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
} from 'node:crypto';
import { type KeyId, PublicKeyText } from '../../../schemas/keys/key-statement.ts';
import { sha256Hex } from '../../canonical/ids.ts';
import { FleetGcError } from '../../process/errors.ts';
import { memoize } from '../../process/memoize.ts';

/** What signs. Its private part leaves this object for no log, error or event. */
export interface SigningKey {
  readonly keyId: KeyId;
  /** 32 bytes in base64. */
  readonly publicKey: string;
  readonly privateKey: KeyObject;
}

export const KEY_ID_LENGTH = 32;

/** Of a public key in base64. */
export const keyIdOf = (publicKey: string): KeyId =>
  sha256Hex(Buffer.from(publicKey, 'base64')).slice(0, KEY_ID_LENGTH);

/** A new Ed25519 key pair, its private part as a PKCS #8 PEM text. */
export function createKeyPair(): { readonly privateKeyPem: string; readonly publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicKey: publicKeyText(publicKey),
  };
}

/** Throws `KEY_UNUSABLE`, with nothing of the text in it. `where` says which file or command the text is from. */
export function readSigningKey(pem: string, where: string): SigningKey {
  const privateKey = keyObject(() => createPrivateKey(pem), where, 'a private key in PKCS #8 PEM');
  const publicKey = publicKeyText(createPublicKey(privateKey));
  return { keyId: keyIdOf(publicKey), publicKey, privateKey };
}

/** The public key of a PEM text, or of the base64 that `keys create` prints. Throws `KEY_UNUSABLE`. */
export function readPublicKey(text: string, where: string): string {
  const trimmed = text.trim();
  if (trimmed.includes('PRIVATE'))
    throw new FleetGcError(
      'KEY_UNUSABLE',
      `${where} holds a private key; give the public one: a private key never leaves its machine`,
    );
  if (PublicKeyText.safeParse(trimmed).success) return trimmed;
  return publicKeyText(keyObject(() => createPublicKey(trimmed), where, 'a public key, base64 or PEM'));
}

/** For `verify`: what `keyIdOf` and certificates call a public key. To make one takes a quarter of a verification. */
export const toKeyObject = memoize((publicKey: string): KeyObject => {
  const jwk: JsonWebKey = {
    kty: 'OKP',
    crv: 'Ed25519',
    x: Buffer.from(publicKey, 'base64').toString('base64url'),
  };
  return createPublicKey({ key: jwk, format: 'jwk' });
});

function keyObject(read: () => KeyObject, where: string, what: string): KeyObject {
  const key = attempt(read);
  if (key === null) throw new FleetGcError('KEY_UNUSABLE', `${where} does not hold ${what}`);
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw new FleetGcError(
    'KEY_UNUSABLE',
    `${where} holds a key of type ${key.asymmetricKeyType ?? 'unknown'}; only ed25519 signs here`,
  );
}

/** The parser's own message may quote what it read. */
function attempt(read: () => KeyObject): KeyObject | null {
  try {
    return read();
  } catch {
    return null;
  }
}

function publicKeyText(key: KeyObject): string {
  const { x = '' } = key.export({ format: 'jwk' });
  return Buffer.from(x, 'base64url').toString('base64');
}
