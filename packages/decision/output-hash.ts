import { canonicalJson, sha256Hex } from '../canonical/ids.ts';

/**
 * SHA-256 of the canonical JSON of what a decision gave: its record, which comes first, and what follows from it, in order. The
 * record holds this hash itself, so the hash is taken without that field.
 */
export function outputHash([record, ...others]: readonly object[]): string {
  return sha256Hex(canonicalJson([{ ...record, outputSha256: undefined }, ...others]));
}
