import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';

export const sha256Hex = (bytes: string | Uint8Array): string => hash('sha256', bytes, 'hex');

/** RFC 8785: equal values give equal bytes. Values that JSON cannot carry are a fault of the caller. */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('value has no JSON form');
  return text;
}

export const contentHash = (value: unknown): string => sha256Hex(canonicalJson(value));

/** An id that depends on its inputs alone, so a redelivered input gives the same one: `<prefix>-<32 hexadecimal digits>`. */
export const deriveId = (prefix: string, ...inputs: readonly string[]): string =>
  `${prefix}-${sha256Hex(JSON.stringify(inputs)).slice(0, 32)}`;
