/** Control characters, invisible formatting characters and Unicode's own line ends could rewrite what a terminal shows. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Text that somebody else wrote, safe for a terminal: what is not printable becomes `\u{1b}`; line feeds stay. */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (character) => (character === '\n' ? character : escaped(character)));

/** The same on one line. */
export const printableLine = (text: string): string => text.replace(UNPRINTABLE, escaped);

const escaped = (character: string): string => `\\u{${character.codePointAt(0)?.toString(16)}}`;
