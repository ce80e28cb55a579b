import { Document, Scalar, type ToStringOptions, visit } from 'yaml';
import { z } from 'zod';
import { withMeta } from '../../packages/process/options/options.ts';
import { jsonText } from '../../packages/text/json-text.ts';
import { linesText } from '../../packages/text/lines-text.ts';
import { UNPRINTABLE_CLASS } from '../../packages/text/printable.ts';
import type { VerbContext } from './verb.ts';

/** What every answer can be printed in. */
const ANSWER_FORMATS = ['table', 'json', 'yaml'] as const;
/** What lists or shows objects with names can be printed in, as kubectl has it. */
const OBJECT_FORMATS = ['table', 'wide', 'name', 'json', 'yaml'] as const;

export type OutputFormat = (typeof ANSWER_FORMATS)[number];
export type ObjectFormat = (typeof OBJECT_FORMATS)[number];
/** Each format that some verb takes. */
type AnyFormat = ObjectFormat | 'ndjson' | 'markdown' | 'html';

const ALL_THERE_IS = 'json or yaml for everything there is to say';

/** The option `-o` of a verb that prints in these formats, the usual one first. */
export const formatOption = <const Formats extends readonly [AnyFormat, ...AnyFormat[]]>(
  formats: Formats,
  description: string,
) =>
  withMeta(z.enum(formats).prefault(formats[0]), {
    description,
    ...(formats.length > ANSWER_FORMATS.length && { placeholder: 'FORMAT' }),
    whyNot: (text) => whyNotIn(formats, text),
  });

/** For verbs that print a result: a table for people, or the whole of it for machines. */
export const outputOptions = { output: formatOption(ANSWER_FORMATS, `table for people; ${ALL_THERE_IS}.`) };

/** For verbs that list or show objects. */
export const objectOptions = {
  output: formatOption(
    OBJECT_FORMATS,
    `table for people, wide with more columns where there are more; name for names alone, one a line; ${ALL_THERE_IS}.`,
  ),
};

const PARTED_FORMATS = [...ANSWER_FORMATS, 'ndjson'] as const;
export type PartedFormat = (typeof PARTED_FORMATS)[number];

/** For verbs whose answer has many parts of one kind. `part`: a finding, an entry. */
export const partedOutputOptions = (part: string) => ({
  output: formatOption(PARTED_FORMATS, `table for people; ${ALL_THERE_IS}; ndjson for ${part} a line.`),
});

const MANIFEST_FORMATS = ['yaml', 'json', 'name'] as const;
export type ManifestFormat = (typeof MANIFEST_FORMATS)[number];

/** For verbs that print objects of Kubernetes for others to apply. */
export const manifestOptions = {
  output: withMeta(
    formatOption(
      MANIFEST_FORMATS,
      'yaml: a document each; json: one list. kubectl takes both with -f -. name: the name of each, as kubectl prints it.',
    ),
    { commandLineOnly: true },
  ),
};

interface Result {
  /** What `json` and `yaml` show. */
  readonly value: unknown;
  /** What `table` shows, line by line: what others wrote in one of them begins none. */
  readonly lines: readonly string[];
}

interface Objects extends Result {
  /** What `wide` shows, where it shows more than `table`. */
  readonly wideLines?: readonly string[];
  /** What `name` shows: each as other verbs take it. */
  readonly names: readonly string[];
}

const PRINTERS: Readonly<Record<ObjectFormat, (objects: Objects) => string>> = {
  table: ({ lines }) => linesText(lines),
  wide: ({ lines, wideLines = lines }) => linesText(wideLines),
  name: ({ names }) => linesText(names),
  json: ({ value }) => `${jsonText(value)}\n`,
  yaml: ({ value }) => `${yamlText(value).trimEnd()}\n`,
};

/** The text ends its last line. */
export const formatResult = (format: OutputFormat, result: Result): string =>
  PRINTERS[format]({ ...result, names: [] });

export const printResult = (
  { write }: Pick<VerbContext, 'write'>,
  format: OutputFormat,
  result: Result,
): Promise<void> => write(formatResult(format, result));

/** Nothing where there is nothing to show. */
export async function printObjects(
  { write }: Pick<VerbContext, 'write'>,
  format: ObjectFormat,
  objects: Objects,
): Promise<void> {
  const text = PRINTERS[format](objects);
  if (text !== '') await write(text);
}

const KUBECTL_TEMPLATES =
  /^(jsonpath|jsonpath-as-json|jsonpath-file|custom-columns|custom-columns-file|go-template|go-template-file|template|templatefile)(=|$)/;

/** For people who know kubectl; `undefined` for what is no format of it either. */
function whyNotIn(formats: readonly AnyFormat[], text: string): string | undefined {
  if (KUBECTL_TEMPLATES.test(text))
    return `FleetGC has no templates; take -o ${formats.includes('json') ? 'json' : 'ndjson'}, and jq for a part of it`;
  if (text === 'name' || text === 'wide') return 'the answer of this verb is no list of objects';
  return undefined;
}

/** What stands in double quotes may be hostile, and goes on no second line, where it would look like a setting. */
const IN_ONE_LINE: ToStringOptions = { doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER };

/**
 * YAML as verbs print it, on terminals too: what is not printable is escaped, and the value stays the same. `isQuoted`: which texts stand in
 * double quotes though nothing in them has to be escaped.
 */
export function yamlText(
  value: unknown,
  isQuoted: (text: string) => boolean = () => false,
  options: ToStringOptions = {},
): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value !== 'string') return;
      const text = node.value.toWellFormed();
      node.value = text;
      if (HAS_UNPRINTABLE.test(text) || isQuoted(text)) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document.toString({ lineWidth: 0, ...IN_ONE_LINE, ...options }).replace(UNPRINTABLE, inYaml);
}

/** Line feeds and tabs stay: they are what the lines of a text are made of. YAML has no noncharacters such as U+FFFF. */
const UNPRINTABLE = new RegExp(`(?![\\n\\t])[${UNPRINTABLE_CLASS}]`, 'gu');
const HAS_UNPRINTABLE = new RegExp(UNPRINTABLE.source, 'u');

const inYaml = (character: string): string =>
  `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;
