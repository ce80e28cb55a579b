/** Files that people write take less. */
export const MAX_YAML_BYTES = 1_048_576;
/** The parser compares each key of a map with all others: so many take it less than a second. */
export const MAX_YAML_SEPARATORS = 10_000;

/** Whatever ends a key, in a block and in braces, also without a value; beside it what only looks so. A colon within a word is none. */
const SEPARATOR = /:(?=[\s,[\]{}]|$)|(?<=[\s"'\]}]):|,|\?(?=\s|$)/g;

/** Why a text is too much for the parser, in a sentence; `null` when it is not. */
export function exceededYamlBound(text: string): string | null {
  if (text.length > MAX_YAML_BYTES || Buffer.byteLength(text) > MAX_YAML_BYTES)
    return `it has more than the ${MAX_YAML_BYTES} bytes that are read`;
  return hasManySeparators(text)
    ? `it has more than the ${MAX_YAML_SEPARATORS} colons, commas and question marks that are read, each of which may end a key`
    : null;
}

function hasManySeparators(text: string): boolean {
  let found = 0;
  for (const _ of text.matchAll(SEPARATOR)) {
    found += 1;
    if (found > MAX_YAML_SEPARATORS) return true;
  }
  return false;
}
