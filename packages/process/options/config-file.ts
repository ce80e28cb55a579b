import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { yamlFaultText } from './yaml-fault.ts';

/** A config file as it was read. */
export interface ConfigFile {
  readonly path: string;
  readonly text: string;
}

/** A value of the file, and the place where it stands. */
export interface Located {
  readonly value: string | readonly string[];
  readonly source: string;
}

export interface ConfigFileContent {
  readonly values: ReadonlyMap<string, Located>;
  readonly problems: readonly string[];
}

/**
 * One YAML map of option names (camelCase) to a text or a list of texts. Read with YAML's failsafe schema: everything
 * is text as written, and the types of the options decide what it means.
 */
export function parseConfigFile(file: ConfigFile | null): ConfigFileContent {
  if (!file || file.text.trim() === '') return { values: new Map(), problems: [] };
  const lines = new LineCounter();
  const document = parseDocument(file.text, { schema: 'failsafe', lineCounter: lines, prettyErrors: false });
  const place = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file.path}:${line}:${col}`;
  };
  const broken = document.errors.map((error) => `${place(error.pos[0])}: ${yamlFaultText(error)}`);
  if (broken.length > 0) return { values: new Map(), problems: broken };
  if (document.contents === null) return { values: new Map(), problems: [] };
  if (!isMap(document.contents))
    return { values: new Map(), problems: [`${file.path}: must be a map of options`] };
  return readPairs(document.contents.items, place);
}

function readPairs(
  pairs: readonly { readonly key: unknown; readonly value: unknown }[],
  place: (offset: number) => string,
): ConfigFileContent {
  const values = new Map<string, Located>();
  const problems: string[] = [];
  for (const pair of pairs) {
    const key = textOf(pair.key) ?? '';
    const source = place(offsetOf(pair.key));
    const value = contentOf(pair.value);
    if (value === undefined) problems.push(`${source}: ${key} must be a text or a list of texts`);
    else values.set(key, { value, source });
  }
  return { values, problems };
}

const textOf = (node: unknown): string | undefined =>
  isScalar(node) && typeof node.value === 'string' ? node.value : undefined;

const offsetOf = (node: unknown): number => (isScalar(node) ? (node.range?.[0] ?? 0) : 0);

function contentOf(node: unknown): string | readonly string[] | undefined {
  if (!isSeq(node)) return textOf(node);
  const items = node.items.map(textOf);
  return items.every((item) => item !== undefined) ? items : undefined;
}
