import type { OptionInfo } from '../../packages/process/options/options.ts';
import type { Verb } from '../framework/verb.ts';
import { shownFlags } from '../framework/verb-arguments.ts';

/*
 * What a shell is told of the command line. The scripts hold all of it, so that nothing is started at a press of TAB. Libraries for
 * it were considered: they start the program each time, or read another library's description of options.
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
export interface NextWord {
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
