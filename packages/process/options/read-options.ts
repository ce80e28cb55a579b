import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { FleetGcError } from '../errors.ts';
import { yamlFaultText } from './named-file.ts';
import { describeOptions, type OptionInfo, type OptionsSchema, type WhyNot } from './options.ts';
import { exceededYamlBound } from './yaml.ts';

/** A config file as it was read. */
export interface ConfigFile {
  readonly path: string;
  readonly text: string;
}

/** Where options come from, strongest first. */
export interface OptionSources {
  /** From the command line, by key. */
  readonly flags: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly file: ConfigFile | null;
  /** Options of other verbs, which the same config file may hold too. */
  readonly otherKeys?: ReadonlySet<string>;
  /** By the variable of an option: how the sentence goes on that says that it is missing. */
  readonly whyMissing?: ReadonlyMap<string, string>;
}

/** A value as it was given, and where. */
interface Given {
  readonly value: string | readonly string[] | undefined;
  readonly source: string;
  readonly whyNot?: WhyNot | undefined;
  readonly whyMissing?: string | undefined;
}

export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Options of one schema; every problem names the place where the value was given. */
export function parseOptions<S extends OptionsSchema>(schema: S, sources: OptionSources): Parsed<z.infer<S>> {
  const file = parseConfigFile(sources.file);
  const options = describeOptions(schema);
  const given = new Map(
    options.map((option): [string, Given] => {
      const { key, variable, whyNot } = option;
      const whyMissing = sources.whyMissing?.get(variable);
      return [key, { ...findValue(option, sources, file.values), whyNot, whyMissing }];
    }),
  );
  const input = Object.fromEntries(
    [...given].flatMap(([key, { value }]) => (value === undefined ? [] : [[key, value]])),
  );
  const result = schema.safeParse(input, { reportInput: true });
  const known = new Set([
    ...options.filter(({ commandLineOnly }) => !commandLineOnly).map(({ key }) => key),
    ...(sources.otherKeys ?? []),
  ]);
  const problems = [
    ...file.problems,
    ...[...file.values]
      .filter(([key]) => !known.has(key))
      .map(([key, at]) => `${at.source}: ${key} is not an option`),
    ...(result.error?.issues ?? []).map((issue) => describeIssue(issue, given)),
  ];
  return result.success && problems.length === 0 ? { ok: true, value: result.data } : { ok: false, problems };
}

/** `CONFIG_INVALID` with all problems: one sentence, or a list of them. */
export function configError(problems: readonly string[]): FleetGcError {
  const distinct = [...new Set(problems)];
  const [only] = distinct;
  return new FleetGcError(
    'CONFIG_INVALID',
    only !== undefined && distinct.length === 1
      ? only
      : [`${distinct.length} problems:`, ...distinct.map((problem) => `  ${problem}`)],
  );
}

function findValue(option: OptionInfo, sources: OptionSources, file: ReadonlyMap<string, Located>): Given {
  const flag = sources.flags[option.key];
  if (flag !== undefined)
    return { value: asText(flag), source: option.positional ? option.placeholder : option.flag };
  if (option.commandLineOnly)
    return { value: undefined, source: option.positional ? option.placeholder : option.flag };
  const variable = sources.environment[option.variable];
  if (variable !== undefined && variable !== '') return { value: variable, source: option.variable };
  const inFile = file.get(option.key);
  if (inFile) return { value: inFile.value, source: `${inFile.source}: ${option.key}` };
  return { value: undefined, source: option.flag };
}

const asText = (flag: string | boolean | readonly string[]): string | readonly string[] =>
  typeof flag === 'boolean' ? String(flag) : flag;

function describeIssue(issue: z.core.$ZodIssue, given: ReadonlyMap<string, Given>): string {
  const [key, ...within] = issue.path;
  if (key === undefined) return issue.message;
  const {
    value,
    source,
    whyNot,
    whyMissing = '',
  }: Given = given.get(String(key)) ?? {
    value: undefined,
    source: String(key),
  };
  if (value === undefined && issue.code !== 'custom') return `${source} is missing${whyMissing}`;
  if (issue.code === 'invalid_type') return `${source} must be one value, not a list`;
  const wrong = within.length > 0 && typeof issue.input === 'string' ? issue.input : value;
  const reason = typeof wrong === 'string' ? whyNot?.(wrong) : undefined;
  return `${source} ${demandOf(issue)}${wrong === undefined ? '' : `, not ${quote(wrong)}`}${reason === undefined ? '' : `: ${reason}`}`;
}

/** Continues a sentence that begins with the name of the option. */
const demandOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'invalid_value' ? `must be one of ${issue.values.join(', ')}` : issue.message;

const quote = (value: string | readonly string[]): string =>
  JSON.stringify(withoutSecrets([value].flat().join(',')));

/** Of an address the login and what stands behind the question mark are for its host alone: this is read by many. */
const withoutSecrets = (text: string): string =>
  text.replaceAll(/:\/\/\S*@/g, '://…@').replaceAll(/(:\/\/[^\s?]*\?)[^\s,]*/g, '$1…');

/** A value of the file, and the place where it stands. */
interface Located {
  readonly value: string | readonly string[];
  readonly source: string;
}

interface ConfigFileContent {
  readonly values: ReadonlyMap<string, Located>;
  readonly problems: readonly string[];
}

/**
 * One YAML map of option names (camelCase) to a text or a list of texts. Read with YAML's failsafe schema: everything
 * is text as written, and the types of the options decide what it means.
 */
function parseConfigFile(file: ConfigFile | null): ConfigFileContent {
  if (!file || file.text.trim() === '') return { values: new Map(), problems: [] };
  const exceeded = exceededYamlBound(file.text);
  if (exceeded !== null) return { values: new Map(), problems: [`${file.path}: ${exceeded}`] };
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
