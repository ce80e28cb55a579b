/**
 * What could rewrite or hide what a terminal or a page shows: control characters, invisible and bidirectional formatting, halves of
 * characters, Unicode's own line ends, and what is drawn as nothing at all. The class of a regular expression with the flag `v` or `u`.
 */
export const UNPRINTABLE_CLASS =
  '\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Noncharacter_Code_Point}\\p{Default_Ignorable_Code_Point}';

const UNPRINTABLE = new RegExp(`[${UNPRINTABLE_CLASS}]`, 'gu');

/** Text that somebody else wrote, safe for a terminal: what is not printable becomes `\u{1b}`; line feeds and tabs stay. */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (character) =>
    character === '\n' || character === '\t' ? character : escaped(character),
  );

/** The same on one line, where a line feed or a tab would begin another line or column. */
export const printableLine = (text: string): string => text.replace(UNPRINTABLE, escaped);

const escaped = (character: string): string => `\\u{${character.codePointAt(0)?.toString(16)}}`;

/** The text of a JSON document, which means what it did: outside of its texts there is nothing to escape. */
export const printableJson = (json: string): string =>
  json.replace(UNPRINTABLE, (character) =>
    character === '\n' || character === '\t' ? character : inUtf16(character),
  );

const inUtf16 = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');
