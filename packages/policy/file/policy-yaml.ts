import { stringify } from 'yaml';

/** Every string on one line: the second line of a string from an untrusted source would look like a setting. */
const FORM = {
  lineWidth: 0,
  blockQuote: false,
  doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
} as const;

/** A policy as a file has it. */
export const yamlOfPolicy = (written: object): string => stringify(written, FORM);
