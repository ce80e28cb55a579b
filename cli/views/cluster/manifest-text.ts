import { Document, Scalar, visit } from 'yaml';
import type { Manifest } from '../../../services/cluster-access/manifest.ts';

/** For `kubectl apply -f -`: a document each, or one list of all. */
export function manifestText(
  format: 'yaml' | 'json',
  manifests: readonly Manifest[],
  remarks: readonly string[],
): string {
  if (format === 'json') return manifestListText(manifests);
  const documents = manifests.map(manifestDocument);
  return `${remarks.map((remark) => `# ${remark}\n`).join('')}${documents.join('---\n').trimEnd()}`;
}

/** One list of all. What would rewrite what a terminal shows is escaped, and means what it did. */
export const manifestListText = (manifests: readonly Manifest[]): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests }, null, 2).replace(UNPRINTABLE, inJson);

/** One document, which ends its last line; escaped likewise. */
export function manifestDocument(manifest: Manifest): string {
  const document = new Document(manifest, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value !== 'string') return;
      const text = node.value.toWellFormed();
      node.value = text;
      if (!isPlain(text)) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document
    .toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER })
    .replace(UNPRINTABLE, inYaml);
}

/**
 * Whether a text needs no quotes. kubectl reads YAML 1.1, in which `no` and `1_000` are no texts, and takes no block whose first line
 * begins with a tab: what it cannot read ends all that comes after it.
 */
const isPlain = (text: string): boolean =>
  !HAS_UNPRINTABLE.test(text) &&
  (text.includes('\n') ? !BEGINS_BLANK.test(text) : /^[A-Za-z/]/.test(text) && !NO_TEXT.test(text));

const BEGINS_BLANK = /^\n*[\t ]/;
const NO_TEXT = /^(y|n|yes|no|on|off|true|false|null|nan|inf|infinity)$/i;

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
