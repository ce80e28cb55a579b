import {
  type Completed,
  type CompletedOption,
  type CompletedValue,
  type CompletedVerb,
  FLAGS_WITHOUT_VERB,
} from './completed-verbs.ts';

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
