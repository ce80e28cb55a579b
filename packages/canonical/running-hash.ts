import { sha256Hex } from './ids.ts';

/** Of no record yet. */
export const NOTHING_HASHED = '';

interface Hashed {
  readonly key: string | null;
  readonly value: Buffer | null;
}

/** The hash of records in their order: `before` is that of all but this one. */
export const runningHash = (before: string, { key, value }: Hashed): string =>
  sha256Hex(JSON.stringify([before, key, value === null ? null : sha256Hex(value)]));
