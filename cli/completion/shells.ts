import { PRODUCT_VERSION } from '../../packages/process/product-version.ts';
import {
  type Completed,
  type CompletedOption,
  type CompletedValue,
  type CompletedVerb,
  FLAGS_WITHOUT_VERB,
} from './verbs.ts';

/** The script that `fleetgc completion bash` prints. Bash from 4.4 on runs it, with or without the package bash-completion. */
export const bashScript = ({ verbs, nextWords }: Completed): string =>
  [
    versionComment('bash'),
    '_fleetgc_next_words() {',
    ...casesOf([...nextWords].map(([before, words]) => [before, words.map(({ word }) => word).join(' ')])),
    '}',
    '_fleetgc_flags() {',
    ...casesOf([['', bashFlagsOf(FLAGS_WITHOUT_VERB)], ...verbs.map(flagCase)]),
    '}',
    '# Of a flag, after its verb.',
    '_fleetgc_value() {',
    ...casesOf(verbs.flatMap(valueCases)),
    '}',
    '# Of what follows a verb without a flag.',
    '_fleetgc_argument() {',
    ...casesOf(verbs.flatMap(argumentCase)),
    '}',
    BASH_COMPLETE,
  ].join('\n');

type Case = readonly [of: string, found: string];

/** `found` is set by the words that are asked for; those with an equal answer stand together. */
const casesOf = (cases: readonly Case[]): readonly string[] => [
  '  found=',
  '  case $1 in',
  ...[...Map.groupBy(cases, ([, found]) => found)].map(
    ([found, members]) => `    ${members.map(([of]) => `'${of}'`).join(' | ')}) found='${found}' ;;`,
  ),
  '    *) return 1 ;;',
  '  esac',
];

const bashFlagsOf = (options: readonly CompletedOption[]): string =>
  options.flatMap(({ flags }) => flags.filter((flag) => flag.startsWith('--'))).join(' ');

const flagCase = ({ name, options }: CompletedVerb): Case => [name, bashFlagsOf(options)];

const valueCases = ({ name, options }: CompletedVerb): readonly Case[] =>
  options.flatMap(({ flags, value }) =>
    value.kind === 'none' ? [] : flags.map((flag): Case => [`${name} ${flag}`, bashWritten(value)]),
  );

const argumentCase = ({ name, argument }: CompletedVerb): readonly Case[] =>
  argument.kind === 'none' ? [] : [[name, bashWritten(argument)]];

/** Choices are words, and the rest begins with an `@`. */
const bashWritten = (value: CompletedValue): string =>
  value.kind === 'choices' ? value.choices.join(' ') : `@${value.kind}`;

const BASH_COMPLETE = `
_fleetgc_offer() {
  case $1 in
    @file)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -P "$3" -- "$2")
      ;;
    @directory)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -P "$3" -- "$2")
      ;;
    @other) ;;
    *) mapfile -t COMPREPLY < <(compgen -P "$3" -W "$1" -- "$2") ;;
  esac
}

_fleetgc() {
  local current=\${COMP_WORDS[COMP_CWORD]} flag=\${COMP_WORDS[COMP_CWORD - 1]} prefix=
  # Bash takes --flag=value apart at the sign, unless COMP_WORDBREAKS was changed.
  if [[ $current == = ]]; then
    current=
  elif [[ $flag == = ]]; then
    flag=\${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $current == --*=* ]]; then
    flag=\${current%%=*} prefix=\${current%%=*}= current=\${current#*=}
  fi
  local verb='' found='' next
  local -i at=1
  [[ \${COMP_WORDS[1]} == help ]] && ((COMP_CWORD > 1)) && at=2
  for (( ; at < COMP_CWORD; at++)); do
    next=\${verb:+$verb }\${COMP_WORDS[at]}
    _fleetgc_next_words "$next" || _fleetgc_flags "$next" || break
    verb=$next
  done
  COMPREPLY=()
  if _fleetgc_value "$verb $flag"; then
    _fleetgc_offer "$found" "$current" "$prefix"
  elif [[ $current == -* ]]; then
    _fleetgc_flags "$verb" && _fleetgc_offer "$found" "$current" ''
  elif ((at == COMP_CWORD)) && _fleetgc_next_words "$verb"; then
    _fleetgc_offer "$found" "$current" ''
  elif _fleetgc_argument "$verb"; then
    _fleetgc_offer "$found" "$current" ''
  fi
}

complete -F _fleetgc fleetgc
`;

/** The script that `fleetgc completion zsh` prints: to be read by a shell in which compinit has run, or from a file in fpath. */
export const zshScript = ({ verbs, nextWords }: Completed): string =>
  [
    '#compdef fleetgc',
    versionComment('zsh'),
    'typeset -gA _fleetgc_next_words _fleetgc_flags _fleetgc_values _fleetgc_arguments',
    ...listOf(
      '_fleetgc_next_words',
      [...nextWords].map(([before, words]) => [
        before,
        words.map(({ word, summary }) => `${word}:${summary}`),
      ]),
    ),
    ...listOf('_fleetgc_flags', [
      ['', FLAGS_WITHOUT_VERB.flatMap(zshFlagsOf)],
      ...verbs.map(({ name, options }) => [name, options.flatMap(zshFlagsOf)] as const),
    ]),
    ...listOf(
      '_fleetgc_values',
      verbs.flatMap(({ name, options }) =>
        options.flatMap(({ flags, value }) =>
          value.kind === 'none' ? [] : flags.map((flag) => [`${name} ${flag}`, zshWritten(value)] as const),
        ),
      ),
    ),
    ...listOf(
      '_fleetgc_arguments',
      verbs.flatMap(({ name, argument }) =>
        argument.kind === 'none' ? [] : [[name, zshWritten(argument)] as const],
      ),
    ),
    ZSH_COMPLETE,
  ].join('\n');

/** Lines of each list stand one below the other in its value, since arrays hold no arrays. */
const listOf = (
  name: string,
  entries: readonly (readonly [key: string, lines: readonly string[]])[],
): readonly string[] => [
  `${name}=(`,
  ...entries.map(([key, lines]) => `  ${quoted(`:${key}`)} ${quoted(lines.join('\n'))}`),
  ')',
];

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const zshFlagsOf = ({ flags, summary }: CompletedOption): readonly string[] =>
  flags.filter((flag) => flag.startsWith('--')).map((flag) => `${flag}:${summary}`);

/** Choices are words, and the rest begins with an `@`. */
const zshWritten = (value: CompletedValue): readonly string[] =>
  value.kind === 'choices' ? value.choices : [`@${value.kind}`];

const ZSH_COMPLETE = `
_fleetgc_offer() {
  case $1 in
    @file) _files ;;
    @directory) _files -/ ;;
    @other) _message 'value' ;;
    *) compadd -- \${(f)1} ;;
  esac
}

_fleetgc() {
  local verb='' next flag=\${words[CURRENT-1]}
  local -i at=2
  local -a described
  [[ \${words[2]} == help ]] && (( CURRENT > 2 )) && at=3
  while (( at < CURRENT )); do
    next="\${verb:+$verb }\${words[at]}"
    (( \${+_fleetgc_next_words[:$next]} || \${+_fleetgc_flags[:$next]} )) || break
    verb=$next
    at=at+1
  done
  if [[ $PREFIX == --*=* ]]; then
    flag=\${PREFIX%%=*}
    compset -P '*='
  fi
  if (( \${+_fleetgc_values[:$verb $flag]} )); then
    _fleetgc_offer \${_fleetgc_values[:$verb $flag]}
  elif [[ $PREFIX == -* ]]; then
    described=(\${(f)_fleetgc_flags[:$verb]})
    _describe 'option' described
  elif (( at == CURRENT )) && [[ -n \${_fleetgc_next_words[:$verb]} ]]; then
    described=(\${(f)_fleetgc_next_words[:$verb]})
    _describe 'verb' described
  elif (( \${+_fleetgc_arguments[:$verb]} )); then
    _fleetgc_offer \${_fleetgc_arguments[:$verb]}
  fi
}

if [[ \${funcstack[1]} == _fleetgc ]]; then
  _fleetgc "$@"
else
  compdef _fleetgc fleetgc
fi
`;

/** The script that `fleetgc completion fish` prints. */
export const fishScript = ({ verbs, nextWords }: Completed): string =>
  [
    versionComment('fish'),
    knownWords(verbs.map(({ name }) => name)),
    WORDS,
    'complete -c fleetgc -f',
    ...[...nextWords].flatMap(([before, words]) =>
      words.map(({ word, summary }) => `${after(before)} -a ${fishQuoted(word)} -d ${fishQuoted(summary)}`),
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
  return `set -g __fleetgc_known ${[...new Set(beginnings)].map(fishQuoted).join(' ')}`;
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

const condition = (text: string): string => `complete -c fleetgc -n ${fishQuoted(text)}`;
const after = (words: string): string => condition(`__fleetgc_verb ${fishQuoted(words)} --end`);
const within = (verb: string): string => condition(`__fleetgc_verb ${fishQuoted(verb)}`);

const flagLine = (verb: string, { flags, summary, value }: CompletedOption): string =>
  [
    within(verb),
    ...flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`)),
    ...(value.kind === 'none' ? [] : [`-r ${argumentOf(value)}`]),
    `-d ${fishQuoted(summary)}`,
  ].join(' ');

function argumentOf(value: CompletedValue): string {
  switch (value.kind) {
    case 'choices':
      return `-f -a ${fishQuoted(value.choices.join(' '))}`;
    case 'file':
      return '-F';
    case 'directory':
      return `-f -a ${fishQuoted('(__fish_complete_directories)')}`;
    case 'none':
    case 'other':
      return '-f';
  }
}

const fishQuoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** Which release a script is of, since a newer one knows other verbs. */
const versionComment = (shell: string): string =>
  `# Completion of fleetgc ${PRODUCT_VERSION} for ${shell}, as "fleetgc completion ${shell}" prints it.`;
