const DIGITS = /^\d{1,20}$/;

/**
 * Whether the first is older than the second. Versions count up where they are numbers; of others, and where there is none,
 * nothing is known.
 */
export const isOlder = (version: string, than: string): boolean =>
  DIGITS.test(version) && DIGITS.test(than) && BigInt(version) < BigInt(than);
