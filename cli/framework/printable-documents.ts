import { Document, Scalar, type ToStringOptions, visit } from 'yaml';
import { printableJson, UNPRINTABLE_CLASS } from '../../packages/text/printable.ts';

/*
 * JSON and YAML as verbs print them, on terminals too. What would rewrite what a terminal shows is escaped, and means what it did: names
 * that somebody else chose stand in them.
 */

export const jsonText = (value: unknown): string => printableJson(JSON.stringify(value, null, 2));

/** The same on one line. */
export const jsonLine = (value: unknown, replacer?: (key: string, value: unknown) => unknown): string =>
  printableJson(JSON.stringify(value, replacer));

/** What stands in double quotes may be hostile, and goes on no second line, where it would look like a setting. */
const IN_ONE_LINE: ToStringOptions = { doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER };

/** `isQuoted`: which texts stand in double quotes though nothing in them has to be escaped. */
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
