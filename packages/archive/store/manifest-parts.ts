/**
 * The manifest is one text in parts: `manifest.jsonl`, `manifest-000001.jsonl` and so on. Object storage cannot append, so the last
 * part is replaced with each line, until it is so long. A directory has one part, or those that came from object storage.
 */
export const FIRST_PART = 'manifest.jsonl';

/** Of the form of the archive: two archivers that saw the same last part go on in the same one. */
export const PART_BYTES = 256 * 1024;

/** In parts beyond the first the older form is not read by releases that know only that. */
export const PARTS_SINCE_VERSION = 3;

const PART_DIGITS = 6;
const PART_NAME = /^manifest(?:-(\d{6}))?\.jsonl$/;

export const partName = (number: number): string =>
  number === 0 ? FIRST_PART : `manifest-${String(number).padStart(PART_DIGITS, '0')}.jsonl`;

/** `null` for a name that is none of a part. */
export function partNumber(name: string): number | null {
  const found = PART_NAME.exec(name);
  return found === null ? null : Number(found[1] ?? '0');
}

/** The parts among these names, in order. What is missing between two of them shows in the chain of the lines. */
export const partsIn = (names: readonly string[]): readonly string[] =>
  names
    .filter((name) => partNumber(name) !== null)
    .toSorted((one, other) => (partNumber(one) ?? 0) - (partNumber(other) ?? 0));
