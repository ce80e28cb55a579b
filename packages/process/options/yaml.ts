import { LineCounter, parseDocument } from 'yaml';

/**
 * Files that people write take less.
 * @limit Size of a YAML file, such as `node.yaml` or a kubeconfig. A larger one is refused.
 */
export const MAX_YAML_BYTES = 1_048_576;
/** The parser compares each key of a map with all others: so many take it less than a second. */
const MAX_YAML_SEPARATORS = 10_000;
/** The parser runs out of stack where several times as many levels end at once. */
const MAX_YAML_LEVEL_SIGNS = 500;

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

type YamlValue =
  | { readonly ok: true; readonly value: unknown }
  /** In a sentence, with the place of the first fault. */
  | { readonly ok: false; readonly problem: string };

/** What a bounded text says as YAML; a key that is there twice is a fault. */
export function yamlValueOf(text: string): YamlValue {
  const exceeded = exceededYamlBound(text);
  if (exceeded !== null) return { ok: false, problem: exceeded };
  const lines = new LineCounter();
  // The parser's own way to tell the place looks through the file once for each fault.
  const options = {
    uniqueKeys: true,
    stringKeys: true,
    prettyErrors: false,
    logLevel: 'error',
    lineCounter: lines,
  } as const;
  try {
    const document = parseDocument(text, options);
    const [fault] = document.errors;
    if (fault === undefined) return { ok: true, value: document.toJS() };
    const { line, col } = lines.linePos(fault.pos[0]);
    return { ok: false, problem: `${fault.message} at line ${line}, column ${col}` };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}
