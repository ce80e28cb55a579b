import { printableJson } from './printable.ts';

/*
 * JSON as verbs print it, on terminals too. Control characters are escaped, since names in the output may come from other parties; the
 * value stays the same.
 */

export const jsonText = (value: unknown): string => printableJson(JSON.stringify(value, null, 2));

/** The same on one line. */
export const jsonLine = (value: unknown, replacer?: (key: string, value: unknown) => unknown): string =>
  printableJson(JSON.stringify(value, replacer));

/** Each on a line of its own, which it ends. */
export const jsonLines = (values: readonly unknown[]): string =>
  values.map((value) => `${jsonLine(value)}\n`).join('');
