import type { OptionInfo } from '../../packages/process/options/options.ts';
import type { Verb } from '../framework/verb.ts';
import { shownFlags } from '../framework/verb-arguments.ts';

/*
 * The command line as shell completion needs it. The scripts contain all of it, so that TAB starts no process. Libraries were
 * considered: they start the program each time, or need another library's description of options.
 */

/** What a shell offers for a value; `none`: there is no value, `other`: one that no shell can know. */
export type CompletedValue =
  | { readonly kind: 'none' | 'file' | 'directory' | 'other' }
  | { readonly kind: 'choices'; readonly choices: readonly string[] };

export interface CompletedOption {
  /** All names of it, a short one first. */
  readonly flags: readonly string[];
  readonly summary: string;
  readonly value: CompletedValue;
}

export interface CompletedVerb {
  readonly name: string;
  readonly options: readonly CompletedOption[];
  /** What follows the verb without a flag. */
  readonly argument: CompletedValue;
}

/** A word that may follow others, on the way to a verb. */
interface NextWord {
  readonly word: string;
  readonly summary: string;
}

export interface Completed {
  readonly verbs: readonly CompletedVerb[];
  /** By the words before, e.g. `policy`; `''` for the first word. */
  readonly nextWords: ReadonlyMap<string, readonly NextWord[]>;
}

const HELP: CompletedOption = {
  flags: ['-h', '--help'],
  summary: 'Show this help.',
  value: { kind: 'none' },
};
const CONFIG: CompletedOption = {
  flags: ['--config'],
  summary: 'YAML file with more settings.',
  value: { kind: 'file' },
};
/** What can stand before any verb. */
export const FLAGS_WITHOUT_VERB: readonly CompletedOption[] = [
  HELP,
  { flags: ['-V', '--version'], summary: 'Show the version.', value: { kind: 'none' } },
];

export const completedVerbs = (verbs: readonly Verb[]): Completed => ({
  verbs: verbs.map(completedVerb),
  nextWords: nextWords(verbs),
});

const completedVerb = ({ name, options }: Verb): CompletedVerb => {
  const argument = options.find(({ positional }) => positional);
  return {
    name,
    options: [...options.filter(({ positional }) => !positional).map(completedOption), CONFIG, HELP],
    argument: argument === undefined ? { kind: 'none' } : offeredFor(argument),
  };
};

const completedOption = (option: OptionInfo): CompletedOption => ({
  flags: shownFlags(option),
  summary: firstSentence(option.description),
  value: offeredFor(option),
});

function offeredFor({ kind, choices, placeholder }: OptionInfo): CompletedValue {
  if (kind === 'switch') return { kind: 'none' };
  if (choices !== undefined) return { kind: 'choices', choices };
  if (/\bFILE\b/.test(placeholder)) return { kind: 'file' };
  return { kind: /\bDIRECTORY\b/.test(placeholder) ? 'directory' : 'other' };
}

/** A list of options has room for no more. */
const firstSentence = (text: string): string => text.split(/(?<=\.) |[;:] /)[0] ?? text;

function nextWords(verbs: readonly Verb[]): Completed['nextWords'] {
  const summaries = new Map(verbs.map(({ name, summary }) => [name, summary]));
  const paths = verbs.flatMap(({ name }) => {
    const words = name.split(' ');
    return words.map((word, index) => ({ word, before: words.slice(0, index).join(' ') }));
  });
  const wordsAfter = (before: string): readonly string[] => [
    ...new Set(paths.flatMap((path) => (path.before === before ? [path.word] : []))),
  ];
  const described = (before: string): readonly NextWord[] =>
    wordsAfter(before).map((word) => {
      const path = joined(before, word);
      return { word, summary: summaries.get(path) ?? wordsAfter(path).join(', ') };
    });
  const next = new Map(
    [...new Set(paths.map(({ before }) => before))].map((each) => [each, described(each)]),
  );
  return next.set('', [...(next.get('') ?? []), { word: 'help', summary: 'Show the help of a verb' }]);
}

const joined = (before: string, word: string): string => (before === '' ? word : `${before} ${word}`);

/** A word that can stand where the last one is, and what it is. */
interface Candidate {
  readonly word: string;
  readonly summary: string;
}

/** What a shell does beside offering the words, by the numbers that kubectl's completion has for it. */
const DIRECTIVES = { nothing: 4, files: 0, directories: 16 } as const;

interface Offer {
  readonly candidates: readonly Candidate[];
  readonly beside: keyof typeof DIRECTIVES;
}

const NOTHING: Offer = { candidates: [], beside: 'nothing' };

/** As kubectl wants it of `kubectl_complete-fleetgc`: a line for each word, and a number at the end. */
export function kubectlAnswer(completed: Completed, words: readonly string[]): string {
  const { candidates, beside } = offerFor(completed, words);
  const lines = candidates.map(({ word, summary }) => (summary === '' ? word : `${word}\t${summary}`));
  return [...lines, `:${DIRECTIVES[beside]}`, ''].join('\n');
}

function offerFor(completed: Completed, words: readonly string[]): Offer {
  const [before, current] = [words.slice(0, -1), words.at(-1) ?? ''];
  const { verb, rest } = verbIn(completed, before[0] === 'help' ? before.slice(1) : before);
  const known = completed.verbs.find(({ name }) => name === verb);
  const options = known?.options ?? (verb === '' ? FLAGS_WITHOUT_VERB : []);
  const value = valueAt(options, before.at(-1), current);
  if (value !== null) return value;
  if (current.startsWith('-')) return matching(options.flatMap(flagsOf), current);
  const next = rest.length === 0 ? completed.nextWords.get(verb) : undefined;
  return next === undefined ? offered(argumentOf(known), current, '') : matching(next, current);
}

/** What stands behind a flag, or behind its sign; `null` where no value is to come. */
function valueAt(
  options: readonly CompletedOption[],
  before: string | undefined,
  current: string,
): Offer | null {
  const [, flag, begun = ''] = /^(--[^=]+)=(.*)$/.exec(current) ?? [];
  const value = valueOfFlag(options, flag ?? before);
  if (value === null) return null;
  return flag === undefined ? offered(value, current, '') : offered(value, begun, `${flag}=`);
}

const argumentOf = (verb: CompletedVerb | undefined): CompletedValue => verb?.argument ?? { kind: 'none' };

/** The words of the verb, as far as they are one, and those behind it. */
function verbIn({ verbs, nextWords }: Completed, words: readonly string[]) {
  const isKnown = (path: string): boolean => nextWords.has(path) || verbs.some(({ name }) => name === path);
  let length = 0;
  while (length < words.length && isKnown(words.slice(0, length + 1).join(' '))) length += 1;
  return { verb: words.slice(0, length).join(' '), rest: words.slice(length) };
}

/** `null` where the flag has none, or is none. */
function valueOfFlag(options: readonly CompletedOption[], flag: string | undefined): CompletedValue | null {
  const option = options.find(({ flags }) => flag !== undefined && flags.includes(flag));
  return option === undefined || option.value.kind === 'none' ? null : option.value;
}

const flagsOf = ({ flags, summary }: CompletedOption): readonly Candidate[] =>
  flags.filter((flag) => flag.startsWith('--')).map((word) => ({ word, summary }));

const matching = (candidates: readonly Candidate[], begun: string): Offer => ({
  candidates: candidates.filter(({ word }) => word.startsWith(begun)),
  beside: 'nothing',
});

function offered(value: CompletedValue, begun: string, prefix: string): Offer {
  switch (value.kind) {
    case 'file':
      return { candidates: [], beside: 'files' };
    case 'directory':
      return { candidates: [], beside: 'directories' };
    case 'choices':
      return matching(
        value.choices.map((choice) => ({ word: `${prefix}${choice}`, summary: '' })),
        `${prefix}${begun}`,
      );
    case 'none':
    case 'other':
      return NOTHING;
  }
}
