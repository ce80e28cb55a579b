import { Document, Scalar, type ToStringOptions, visit } from 'yaml';

/*
 * JSON and YAML as verbs print them, on terminals too. What would rewrite what a terminal shows is escaped, and means what it did: names
 * that somebody else chose stand in them.
 */

export const jsonText = (value: unknown): string =>
  JSON.stringify(value, null, 2).replace(UNPRINTABLE, inJson);

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
  return document.toString({ lineWidth: 0, ...options }).replace(UNPRINTABLE, inYaml);
}

/** Line feeds and tabs stay: they are what the lines of a text are made of. YAML has no noncharacters such as U+FFFF. */
const UNPRINTABLE = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/gu;
const HAS_UNPRINTABLE = new RegExp(UNPRINTABLE.source, 'u');

const inJson = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');

const inYaml = (character: string): string =>
  `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;
