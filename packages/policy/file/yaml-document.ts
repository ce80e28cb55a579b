import {
  type Document,
  type DocumentOptions,
  isMap,
  isNode,
  isScalar,
  LineCounter,
  parseAllDocuments,
  type SchemaOptions,
  stringify,
  type Tags,
  visit,
} from 'yaml';
import { yamlFaultText } from '../../process/options/named-file.ts';
import { exceededYamlBound } from '../../process/options/yaml.ts';

/** A file that people wrote: its name as they gave it, and its text. */
export interface PolicyText {
  readonly file: string;
  readonly text: string;
}

/** One document of a YAML file: its value, and where each part of it stands. */
export interface YamlDocument {
  readonly value: unknown;
  /** The text of this document alone. */
  readonly source: string;
  /** The document has a form; when it has none, `value` means nothing. */
  readonly wellFormed: boolean;
  readonly problems: readonly Problem[];
  /** The value as written, before any default; `undefined` when there is none. */
  readonly valueAt: (path: readonly PropertyKey[]) => unknown;
  /** Where a value stands; for one that does not exist, the nearest thing around it. */
  readonly placeOf: (path: readonly PropertyKey[]) => Place;
  readonly placeOfKey: (path: readonly PropertyKey[], key: string) => Place;
}

/** Something to tell about a value of the document. */
export const problemAt = (
  document: Pick<YamlDocument, 'placeOf'>,
  path: readonly PropertyKey[],
  message: string,
): Problem => ({ ...document.placeOf(path), path: pathText(path), message });

/** These leave the value of the document intact, so its fields are checked as well. */
const HARMLESS_TO_FORM: ReadonlySet<string> = new Set(['DUPLICATE_KEY', 'TAG_RESOLVE_FAILED']);

/** What plain words of a text mean. */
type YamlDialect = Pick<DocumentOptions & SchemaOptions, 'version' | 'customTags'>;

const CORE: YamlDialect = { version: '1.2' };

/**
 * As Kubernetes reads YAML (sigs.k8s.io/yaml): the truths (`yes`, `off`), octal numbers and merge keys of YAML 1.1, but
 * neither its times nor its numbers to the base of 60.
 */
export const KUBERNETES_YAML: YamlDialect = {
  version: '1.1',
  customTags: (tags: Tags) => tags.filter((tag) => typeof tag === 'string' || !isTime(tag)),
};

const isTime = ({ format, tag }: { readonly format?: string; readonly tag: string }): boolean =>
  format === 'TIME' || tag === 'tag:yaml.org,2002:timestamp';

/** Reads every document of `text` that is not empty, where it is not too much. Anchors work; nothing is resolved but the types of the dialect. */
export function parseYaml(file: string, text: string, dialect = CORE): readonly YamlDocument[] {
  const lines = new LineCounter();
  const at = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const exceeded = exceededYamlBound(text);
  if (exceeded !== null) return [unread(at(0), `${exceeded}; shorten it, or divide it into several files`)];
  const documents = parseAllDocuments(text, {
    ...dialect,
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
  });
  if ('empty' in documents) return [];
  return documents
    .filter((document) => !isEmpty(document) || document.errors.length > 0)
    .map((document, index) =>
      toYamlDocument(document, text.slice(index === 0 ? 0 : document.range[0], document.range[2]), at),
    );
}

const unread = (place: Place, message: string): YamlDocument => ({
  value: null,
  source: '',
  wellFormed: false,
  problems: [{ ...place, path: '', message }],
  valueAt: () => undefined,
  placeOf: () => place,
  placeOfKey: () => place,
});

const isEmpty = ({ contents }: Document.Parsed): boolean =>
  contents === null || (isScalar(contents) && contents.value === null && contents.source === '');

function toYamlDocument(
  document: Document.Parsed,
  source: string,
  at: (offset: number) => Place,
): YamlDocument {
  const faults = [...document.errors, ...document.warnings];
  const { value, problem } = plainValue(document);
  const placeOf = (path: readonly PropertyKey[]): Place => at(offsetOf(document, path));
  return {
    value,
    source,
    wellFormed: problem === undefined && faults.every(({ code }) => HARMLESS_TO_FORM.has(code)),
    problems: [
      ...faults.map((fault) => ({ ...at(fault.pos[0]), path: '', message: yamlFaultText(fault) })),
      ...(problem === undefined ? [] : [{ ...placeOf([]), path: '', message: problem }]),
      ...lostKeys(document).map((offset) => ({ ...at(offset), path: '', message: `${LOST_KEY} is no name` })),
    ],
    valueAt: (path) => document.getIn(path),
    placeOf,
    placeOfKey: (path, key) => at(keyOffset(document, path, key) ?? offsetOf(document, path)),
  };
}

/** JavaScript gives this key a meaning of its own: the value would be dropped, and with it a condition on nodes. */
const LOST_KEY = '__proto__';

function lostKeys(document: Document.Parsed): readonly number[] {
  const offsets: number[] = [];
  visit(document, {
    Pair: (_, { key }) => {
      if (isScalar(key) && key.value === LOST_KEY && key.range) offsets.push(key.range[0]);
    },
  });
  return offsets;
}

/** Resolving an alias fails when its anchor is missing, or when aliases of aliases would fill memory. */
function plainValue(document: Document.Parsed): { readonly value: unknown; readonly problem?: string } {
  if (document.errors.some(({ code }) => !HARMLESS_TO_FORM.has(code))) return { value: null };
  try {
    return { value: document.toJS() };
  } catch {
    return { value: null, problem: 'an alias has no anchor, or there are too many; write the values out' };
  }
}

function offsetOf(document: Document.Parsed, path: readonly PropertyKey[]): number {
  const node = path.length === 0 ? document.contents : document.getIn(path, true);
  if (isNode(node) && node.range) return node.range[0];
  return path.length === 0 ? document.range[0] : offsetOf(document, path.slice(0, -1));
}

function keyOffset(document: Document.Parsed, path: readonly PropertyKey[], key: string): number | undefined {
  const map = path.length === 0 ? document.contents : document.getIn(path, true);
  if (!isMap(map)) return undefined;
  const pair = map.items.find((item) => isScalar(item.key) && String(item.key.value) === key);
  return isScalar(pair?.key) ? pair.key.range?.[0] : undefined;
}

/** A place in a file, counted from 1. */
interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Something that is wrong with a policy file, or worth knowing about it, and where. */
export interface Problem extends Place {
  /** The setting, as in `keep.digests[0]`; empty when the problem is about the policy as a whole. */
  readonly path: string;
  readonly message: string;
  /** Lines below the message, of a policy to write in its place. */
  readonly lines?: readonly string[];
}

export const problemText = ({ file, line, column, path, message }: Problem): string =>
  `${file}:${line}:${column}: ${path === '' ? '' : `${path}: `}${message}`;

/** In the order in which a reader meets them. */
export const byPlace = (a: Problem, b: Problem): number => a.line - b.line || a.column - b.column;

/** `['keep', 'digests', 0]` becomes `keep.digests[0]`. */
export const pathText = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : `${text}${text === '' ? '' : '.'}${String(part)}`,
    '',
  );

/** Every string on one line: the second line of a string from an untrusted source would look like a setting. */
const FORM = {
  lineWidth: 0,
  blockQuote: false,
  doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
} as const;

/** A policy as a file has it. */
export const yamlOfPolicy = (written: object): string => stringify(written, FORM);
