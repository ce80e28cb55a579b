import { versionComment } from './comment.ts';
import {
  type Completed,
  type CompletedOption,
  type CompletedValue,
  type CompletedVerb,
  FLAGS_WITHOUT_VERB,
} from './completed-verbs.ts';

/** The script that `fleetgc completion bash` prints. Bash from 4.4 on runs it, with or without the package bash-completion. */
export const bashScript = ({ verbs, nextWords }: Completed): string =>
  [
    versionComment('bash'),
    '_fleetgc_next_words() {',
    ...casesOf([...nextWords].map(([before, words]) => [before, words.map(({ word }) => word).join(' ')])),
    '}',
    '_fleetgc_flags() {',
    ...casesOf([['', flagsOf(FLAGS_WITHOUT_VERB)], ...verbs.map(flagCase)]),
    '}',
    '# Of a flag, after its verb.',
    '_fleetgc_value() {',
    ...casesOf(verbs.flatMap(valueCases)),
    '}',
    '# Of what follows a verb without a flag.',
    '_fleetgc_argument() {',
    ...casesOf(verbs.flatMap(argumentCase)),
    '}',
    COMPLETE,
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

const flagsOf = (options: readonly CompletedOption[]): string =>
  options.flatMap(({ flags }) => flags.filter((flag) => flag.startsWith('--'))).join(' ');

const flagCase = ({ name, options }: CompletedVerb): Case => [name, flagsOf(options)];

const valueCases = ({ name, options }: CompletedVerb): readonly Case[] =>
  options.flatMap(({ flags, value }) =>
    value.kind === 'none' ? [] : flags.map((flag): Case => [`${name} ${flag}`, written(value)]),
  );

const argumentCase = ({ name, argument }: CompletedVerb): readonly Case[] =>
  argument.kind === 'none' ? [] : [[name, written(argument)]];

/** Choices are words, and the rest begins with an `@`. */
const written = (value: CompletedValue): string =>
  value.kind === 'choices' ? value.choices.join(' ') : `@${value.kind}`;

const COMPLETE = `
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
