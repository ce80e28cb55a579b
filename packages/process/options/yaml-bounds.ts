/** Files that people write take less. */
export const MAX_YAML_BYTES = 1_048_576;
/** The parser compares each key of a map with all others: so many take it less than a second. */
export const MAX_YAML_SEPARATORS = 10_000;
/** The parser runs out of stack where several times as many levels end at once. */
export const MAX_YAML_LEVEL_SIGNS = 500;

/** Whatever ends a key, in a block and in braces, also without a value; beside it what only looks so. A colon within a word is none. */
const SEPARATOR = /:(?=[\s,[\]{}]|$)|(?<=[\s"'\]}]):|,|\?(?=\s|$)/g;
/** Whatever may put a line a level deeper: what it is indented by, and `- `, `? ` and `: ` in it. */
const LEVEL_SIGNS = /^ +|[-?:](?=\s|$)/g;

/** Why a text is too much for the parser, in a sentence; `null` when it is not. */
export function exceededYamlBound(text: string): string | null {
  if (text.length > MAX_YAML_BYTES || Buffer.byteLength(text) > MAX_YAML_BYTES)
    return `it has more than the ${MAX_YAML_BYTES} bytes that are read`;
  if (hasMany(text, SEPARATOR, MAX_YAML_SEPARATORS))
    return `it has more than the ${MAX_YAML_SEPARATORS} colons, commas and question marks that are read, each of which may end a key`;
  return text.split('\n').some((line) => hasMany(line, LEVEL_SIGNS, MAX_YAML_LEVEL_SIGNS))
    ? `one of its lines has more than the ${MAX_YAML_LEVEL_SIGNS} leading spaces, hyphens, colons and question marks that are read, each of which may open a level`
    : null;
}

/** Whether what the pattern finds has more characters than that. */
function hasMany(text: string, pattern: RegExp, most: number): boolean {
  let found = 0;
  for (const [{ length }] of text.matchAll(pattern)) {
    found += length;
    if (found > most) return true;
  }
  return false;
}
