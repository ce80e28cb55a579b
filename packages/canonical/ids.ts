import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { mayHaveBrokenText } from '../../schemas/events/broken-texts.ts';
import { inKeyOrder } from './key-order.ts';

export const sha256Hex = (bytes: string | Uint8Array): string => hash('sha256', bytes, 'hex');

const hashesOfValues = new WeakMap<Buffer, string>();

/** Of the bytes of a record, which nobody changes: who verifies its signature and who decides on it need the same. */
export function valueSha256(value: Buffer): string {
  const known = hashesOfValues.get(value) ?? sha256Hex(value);
  hashesOfValues.set(value, known);
  return known;
}

/** RFC 8785: equal values give equal bytes. Values that JSON cannot carry are a fault of the caller. */
export function canonicalJson(value: unknown): string {
  // Numbers and texts are written as the RFC says by every JSON.stringify, which is three times as fast as the library.
  const ordered = inKeyOrder(value);
  const quick = ordered === undefined ? undefined : JSON.stringify(ordered);
  const text = quick === undefined || mayHaveBrokenText(quick) ? canonicalize(value) : quick;
  if (text === undefined) throw new TypeError('value has no JSON form');
  return text;
}

export const contentHash = (value: unknown): string => sha256Hex(canonicalJson(value));

/** An id that depends on its inputs alone, so a redelivered input gives the same one: `<prefix>-<32 hexadecimal digits>`. */
export const deriveId = (prefix: string, ...inputs: readonly string[]): string =>
  `${prefix}-${sha256Hex(JSON.stringify(inputs)).slice(0, 32)}`;
