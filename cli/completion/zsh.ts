import { versionComment } from './comment.ts';
import {
  type Completed,
  type CompletedOption,
  type CompletedValue,
  FLAGS_WITHOUT_VERB,
} from './completed-verbs.ts';

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
      ['', FLAGS_WITHOUT_VERB.flatMap(flagsOf)],
      ...verbs.map(({ name, options }) => [name, options.flatMap(flagsOf)] as const),
    ]),
    ...listOf(
      '_fleetgc_values',
      verbs.flatMap(({ name, options }) =>
        options.flatMap(({ flags, value }) =>
          value.kind === 'none' ? [] : flags.map((flag) => [`${name} ${flag}`, written(value)] as const),
        ),
      ),
    ),
    ...listOf(
      '_fleetgc_arguments',
      verbs.flatMap(({ name, argument }) =>
        argument.kind === 'none' ? [] : [[name, written(argument)] as const],
      ),
    ),
    COMPLETE,
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

const flagsOf = ({ flags, summary }: CompletedOption): readonly string[] =>
  flags.filter((flag) => flag.startsWith('--')).map((flag) => `${flag}:${summary}`);

/** Choices are words, and the rest begins with an `@`. */
const written = (value: CompletedValue): readonly string[] =>
  value.kind === 'choices' ? value.choices : [`@${value.kind}`];

const COMPLETE = `
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
