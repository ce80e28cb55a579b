import type { SQLOutputValue } from 'node:sqlite';

/** Columns for `bigSumOf`. SQLite ends a statement whose sum is more than a table can hold: so the halves are summed apart. */
export const bigSum = (column: string, as: string): string =>
  `CAST(coalesce(sum(${column} >> 32), 0) AS TEXT) AS ${as}_high, CAST(coalesce(sum(${column} & 4294967295), 0) AS TEXT) AS ${as}_low`;

export const bigSumOf = (row: Readonly<Record<string, SQLOutputValue>>, as: string): bigint =>
  (BigInt(String(row[`${as}_high`])) << 32n) + BigInt(String(row[`${as}_low`]));
