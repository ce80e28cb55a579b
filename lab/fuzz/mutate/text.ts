import type { Choices } from './choices.ts';

/** What has a meaning somewhere, or breaks what takes no care. */
const TOKENS = [
  '',
  ' ',
  '\n',
  '\0',
  '\t',
  ':',
  '- ',
  '*',
  '**',
  '?',
  '/',
  '..',
  '../../etc/passwd',
  '%',
  "'",
  '"',
  '\\',
  '&a',
  '*a',
  '!!js/function',
  '---',
  '{',
  '}',
  '[',
  ']',
  ',',
  '=',
  '--',
  '#',
  '@sha256:',
  '__proto__',
  'constructor',
  'null',
  'true',
  '-1',
  '0',
  '1e400',
  '9007199254740993',
  '18446744073709551616',
  '\ud800',
  '\u202e',
  '\u{1f600}',
  'İ',
  '\uFEFF',
] as const;

export const someToken = (choices: Choices): string => choices.of(TOKENS);

const LONGEST = 200_000;

/** The text with one change at one place. */
export function changedText(text: string, choices: Choices): string {
  const at = choices.below(text.length + 1);
  const to = Math.min(text.length, at + 1 + choices.below(8));
  const changes = [
    () => text.slice(0, at) + text.slice(to),
    () => text.slice(0, at) + someToken(choices) + text.slice(at),
    () => text.slice(0, at) + someToken(choices) + text.slice(to),
    () => text.slice(0, to) + text.slice(at),
    () => text.slice(0, at) + String.fromCharCode(choices.below(256)) + text.slice(at + 1),
    () => linesMoved(text, choices),
  ];
  return choices.of(changes)().slice(0, LONGEST);
}

/** A line again, or in another place, or not at all: what files of settings and arguments are made of. */
function linesMoved(text: string, choices: Choices): string {
  const lines = text.split('\n');
  const line = choices.of(lines);
  const at = choices.below(lines.length + 1);
  return lines.toSpliced(at, choices.below(2), line).join('\n');
}

/** The same over and over: what is bounded, is bounded by size. */
export function blownUp(text: string, choices: Choices): string {
  const piece = text === '' ? 'a' : text;
  const times = 1 + choices.below(2 ** choices.below(17));
  return piece.repeat(Math.min(times, Math.ceil(LONGEST / piece.length))).slice(0, LONGEST);
}
