import { compareText } from '../../../schemas/events/text-order.ts';

/** A command as a page shows it, with what it is said to print. */
export interface Shown {
  readonly command: string;
  readonly output: string;
}

/** Ids that the page has, and those that stand in their place in this run. */
export type Ids = Map<string, string>;

/** The commands in the code blocks under one heading, each after `$ `. */
export function commandsUnder(page: string, heading: string): readonly Shown[] {
  let current = '';
  const found: Shown[] = [];
  // A report that is shown has headings of its own.
  for (const part of page.split(/^(```[\s\S]*?^```)$/m)) {
    if (!part.startsWith('```')) current = [...part.matchAll(/^## (.*)$/gm)].at(-1)?.[1] ?? current;
    else if (current === heading) found.push(...commandsIn(part));
  }
  if (found.length === 0) throw new Error(`the page shows no command under ${heading}`);
  return found;
}

function commandsIn(block: string): readonly Shown[] {
  const [, code = ''] = /^```\n(\$ [\s\S]*)```$/.exec(block) ?? [];
  return code
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      // It goes on in the next line after a backslash.
      const [command = ''] = /^(?:.*\\\n)*.*\n/.exec(text) ?? [];
      return { command: command.trimEnd(), output: text.slice(command.length) };
    });
}

/** The text with the ids of this run. */
export const translated = (text: string, ids: Ids): string =>
  [...ids].reduce((changed, [told, real]) => changed.replaceAll(told, real), text);

const ID = /\b[0-9a-f]{12,64}\b/;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/;
/** What may be another one in another run, and what it may be there. */
const VARIABLE: readonly (readonly [found: RegExp, elsewhere: (found: string) => string])[] = [
  [/…/, () => '[\\s\\S]*?'],
  [TIME, () => TIME.source],
  [ID, ({ length }) => `([0-9a-f]{${length}})`],
  [/\s+/, () => '\\s+'],
  [/\d+/, () => '\\d+'],
  [/\brecords?\b/, () => 'records?'],
];
const ANY_VARIABLE = new RegExp(`(${VARIABLE.map(([{ source }]) => source).join('|')})`);

/**
 * Matches what a command prints where the page shows this: with any ids, times and numbers, and with line breaks anywhere.
 * `…` stands for anything.
 */
function patternOf(output: string): RegExp {
  const parts = output.trim().split(ANY_VARIABLE);
  return new RegExp(
    `^${parts.map((part, index) => (index % 2 === 0 ? escaped(part) : elsewhere(part))).join('')}$`,
  );
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

function elsewhere(found: string): string {
  const [, pattern] = VARIABLE.find(([{ source }]) => new RegExp(`^(?:${source})$`).test(found)) ?? [];
  if (pattern === undefined) throw new Error(`nothing varies like this: ${found}`);
  return pattern(found);
}

/** Of a table of keys, and of what each key signed: they stand in the order of their ids, which differ. */
const LINES_OF_KEYS = /(?:^ *(?:[0-9a-f]{32}|\d+ records? of) .*\n?)+/gm;

/** The text with these lines in an order that does not depend on ids. */
const inOneOrder = (text: string): string =>
  `${text.trim()}\n`.replace(LINES_OF_KEYS, (lines) =>
    lines
      .split(/(?<=\n)/)
      .toSorted((a, b) => compareText(withoutIds(a), withoutIds(b)))
      .join(''),
  );

const withoutIds = (line: string): string =>
  line
    .replace(new RegExp(ID, 'g'), 'id')
    .replace(/^ *\d+ records?/, 'records')
    .replace(/ +/g, ' ');

/** Whether a command printed what the page shows; learns the ids then. */
export function isAsShown(shown: string, printed: string, ids: Ids): boolean {
  const ordered = inOneOrder(shown);
  const matched = patternOf(ordered).exec(inOneOrder(printed).trim());
  if (matched === null) return false;
  const told = ordered.match(new RegExp(ID, 'g')) ?? [];
  for (const [place, id] of told.entries()) ids.set(id, matched[place + 1] ?? id);
  return true;
}
