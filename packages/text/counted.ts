/** A number with what it counts: `1 file`, `2 files`. */
export const counted = (count: number | bigint, noun: string, plural = `${noun}s`): string =>
  `${count} ${BigInt(count) === 1n ? noun : plural}`;
