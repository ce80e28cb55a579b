import { versionComment } from './comment.ts';
import {
  type Completed,
  type CompletedOption,
  type CompletedValue,
  FLAGS_WITHOUT_VERB,
} from './completed-verbs.ts';

/** The script that `fleetgc completion fish` prints. */
export const fishScript = ({ verbs, nextWords }: Completed): string =>
  [
    versionComment('fish'),
    knownWords(verbs.map(({ name }) => name)),
    WORDS,
    'complete -c fleetgc -f',
    ...[...nextWords].flatMap(([before, words]) =>
      words.map(({ word, summary }) => `${after(before)} -a ${quoted(word)} -d ${quoted(summary)}`),
    ),
    ...FLAGS_WITHOUT_VERB.map((option) => flagLine('', option)),
    ...verbs.flatMap(({ name, options, argument }) => [
      ...options.map((option) => flagLine(name, option)),
      ...(argument.kind === 'none' ? [] : [`${within(name)} ${argumentOf(argument)}`]),
    ]),
    '',
  ].join('\n');

const knownWords = (names: readonly string[]): string => {
  const beginnings = names.flatMap((name) => {
    const words = name.split(' ');
    return words.map((_, index) => words.slice(0, index + 1).join(' '));
  });
  return `set -g __fleetgc_known ${[...new Set(beginnings)].map(quoted).join(' ')}`;
};

const WORDS = `
# The verb on the line, as far as it is there. The first argument, if given, is what it has to be.
# With --end nothing else may stand behind it.
function __fleetgc_verb
    set -l words (commandline -opc)[2..]
    test "$words[1]" = help; and set -e words[1]
    set -l verb ''
    while set -q words[1]
        set -l next (string trim "$verb $words[1]")
        contains -- $next $__fleetgc_known; or break
        set verb $next
        set -e words[1]
    end
    test "$argv[2]" = --end; and set -q words[1]; and return 1
    test "$verb" = "$argv[1]"
end
`;

const condition = (text: string): string => `complete -c fleetgc -n ${quoted(text)}`;
const after = (words: string): string => condition(`__fleetgc_verb ${quoted(words)} --end`);
const within = (verb: string): string => condition(`__fleetgc_verb ${quoted(verb)}`);

const flagLine = (verb: string, { flags, summary, value }: CompletedOption): string =>
  [
    within(verb),
    ...flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`)),
    ...(value.kind === 'none' ? [] : [`-r ${argumentOf(value)}`]),
    `-d ${quoted(summary)}`,
  ].join(' ');

function argumentOf(value: CompletedValue): string {
  switch (value.kind) {
    case 'choices':
      return `-f -a ${quoted(value.choices.join(' '))}`;
    case 'file':
      return '-F';
    case 'directory':
      return `-f -a ${quoted('(__fish_complete_directories)')}`;
    case 'none':
    case 'other':
      return '-f';
  }
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
