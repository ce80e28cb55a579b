import { createHmac } from 'node:crypto';
import { readSecretFile, unusable } from './target.ts';

export const SIGNATURE_HEADER = 'fleetgc-signature';

const LEAST_SECRET_BYTES = 16;
/** The present one, and the one before or after it while receivers change. */
const MOST_SECRETS = 2;

/**
 * `t=<Unix seconds>,v1=<hex>`: HMAC-SHA256 over the seconds, a dot, and the bytes of the body. With two secrets there are two `v1`, and
 * one that is right is enough.
 */
export function signatureOf(body: string, secrets: readonly string[], nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000);
  const signed = secrets.map(
    (secret) => `v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`,
  );
  return [`t=${seconds}`, ...signed].join(',');
}

/** What RFC 6750 lets a token be made of. */
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
const MOST_TOKEN_BYTES = 8_192;

/** The bearer token of a receiver. Throws `CONFIG_INVALID`, which says nothing of the token. */
export function readToken(name: string, path: string): string {
  const token = readSecretFile(name, 'tokenFile', path).trim();
  if (token.length > MOST_TOKEN_BYTES || !TOKEN.test(token))
    throw unusable(name, `tokenFile ${path} must have one bearer token, and nothing else`);
  return token;
}

/** The secrets of a receiver, a line each. Throws `CONFIG_INVALID`. */
export function readSecrets(name: string, path: string): readonly string[] {
  const secrets = readSecretFile(name, 'secretFile', path)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (secrets.length === 0 || secrets.length > MOST_SECRETS)
    throw unusable(name, `secretFile ${path} must have one secret, or two, a line each`);
  if (secrets.some((secret) => Buffer.byteLength(secret) < LEAST_SECRET_BYTES))
    throw unusable(name, `secretFile ${path}: a secret must have ${LEAST_SECRET_BYTES} bytes or more`);
  return secrets;
}
