/*
 * Our own, and not pretty-bytes: what was freed is never told as more than it was, while the library rounds up by default
 * (999,950 bytes are 1 MB), and where it cuts off it reckons with doubles, by which 8,099,999,999,999,999 bytes are 8.1 PB.
 * One digit behind the point below ten and none above would stay ours, which is half of this file.
 */
const UNITS = ['kB', 'MB', 'GB', 'TB', 'PB', 'EB'];

/** `1234567890n` becomes `1.2 GB`: three digits at the most, rounded down. */
export function sizeText(bytes: bigint): string {
  if (bytes < 1_000n) return `${bytes} B`;
  const power = Math.floor((String(bytes).length - 1) / 3);
  const tenths = bytes / 10n ** BigInt(3 * power - 1);
  const whole = tenths / 10n;
  const unit = UNITS[power - 1];
  return whole < 10n ? `${whole}.${tenths % 10n} ${unit}` : `${whole} ${unit}`;
}

/** For what may be any number. */
export const signedSizeText = (bytes: bigint): string =>
  bytes < 0n ? `-${sizeText(-bytes)}` : sizeText(bytes);
