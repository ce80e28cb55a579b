import { Command, CommanderError, Option } from 'commander';
import { FleetGcError } from '../../packages/process/errors.ts';
import { type OptionInfo, offFlagOf } from '../../packages/process/options/options.ts';
import type { OptionSources } from '../../packages/process/options/read-options.ts';
import type { Verb } from './verb.ts';

/** The arguments of one verb as they were given. `help` asks for its help instead. */
type VerbArguments =
  | { readonly kind: 'help'; readonly text: string }
  | {
      readonly kind: 'given';
      readonly flags: OptionSources['flags'];
      readonly configPath: string | undefined;
    };

const SHORT_FLAGS: Readonly<Record<string, string>> = { output: '-o', namespace: '-n' };
const CONFIG_KEY = 'config';
const MAX_PLACEHOLDER_LENGTH = 16;

const LOG_HEADING = 'Event log:';
const GENERAL_HEADING = 'General:';

/** Reads the arguments that follow the verb. Throws `USAGE` with one sentence. */
export function readVerbArguments(verb: Verb, rest: readonly string[]): VerbArguments {
  let output = '';
  const command = toCommand(verb).configureOutput({
    writeOut: (text) => {
      output += text;
    },
    writeErr: () => {},
  });
  try {
    command.parse([...withoutSignBehindShortFlags(rest)], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError && error.code === 'commander.helpDisplayed')
      return { kind: 'help', text: output };
    throw error instanceof CommanderError ? usageError(error, verb) : error;
  }
  const { [CONFIG_KEY]: configPath, ...flags } = command.opts<Record<string, string | undefined>>();
  return {
    kind: 'given',
    flags: { ...withoutBare(flags, verb), ...positionals(verb, command.processedArgs) },
    configPath,
  };
}

/** A flag that stands without a value leaves its option as it is. */
function withoutBare(flags: OptionSources['flags'], { options }: Verb): OptionSources['flags'] {
  const bare = new Set(
    options.flatMap(({ key, mayBeBare }) => (mayBeBare && flags[key] === true ? [key] : [])),
  );
  return Object.fromEntries(Object.entries(flags).filter(([key]) => !bare.has(key)));
}

function toCommand(verb: Verb): Command {
  const command = new Command(`fleetgc ${verb.name}`)
    .description(textBefore(verb))
    .addHelpOption(new Option('-h, --help', 'Show this help.').helpGroup(GENERAL_HEADING))
    .addHelpText('after', textAfter(verb))
    .allowExcessArguments(false)
    .exitOverride();
  for (const option of verb.options) {
    if (option.positional) command.argument(argumentName(option), option.description);
    else for (const flag of toFlags(option)) command.addOption(flag.helpGroup(headingOf(option)));
  }
  return command.addOption(
    new Option('--config <FILE>', 'YAML file with more settings.').helpGroup(GENERAL_HEADING),
  );
}

/** What help on a verb says first. */
const textBefore = ({ summary, help = [] }: Verb): string => [`${summary}.`, ...help].join('\n\n');

/** What help on a verb says after its options. */
function textAfter({ examples, options }: Verb): string {
  return [
    '',
    'Examples:',
    ...examples.map((line) => `  ${line}`),
    '',
    ...otherSources(options.find(({ commandLineOnly }) => !commandLineOnly)),
  ].join('\n');
}

/** Shown with one of the verb's own options, so that nobody has to work the names out. */
function otherSources(option: OptionInfo | undefined): readonly string[] {
  if (option === undefined) return [];
  return [
    `Settings may also be given in the environment (${option.variable} for ${option.flag}) or in the file`,
    `named by --config (${option.key}: ...). The command line wins over the environment, and that over the file.`,
  ];
}

function headingOf({ key }: OptionInfo): string {
  if (key === 'logLevel') return GENERAL_HEADING;
  if (key.startsWith('kubelet') || key === 'podSources') return 'Kubelet:';
  return /^(log|kafka|archive$)/.test(key) ? LOG_HEADING : 'Options:';
}

const argumentName = ({ placeholder, kind, required }: OptionInfo): string => {
  const name = kind === 'list' ? `${placeholder}...` : placeholder;
  return required ? `<${name}>` : `[${name}]`;
};

/** The flags of an option that help shows, a short one first. */
export function shownFlags({ key, flag, kind, default: standard }: OptionInfo): readonly string[] {
  if (kind === 'switch' && standard === 'true') return [offFlagOf(key)];
  const short = SHORT_FLAGS[key];
  return short === undefined ? [flag] : [short, flag];
}

function toFlags(option: OptionInfo): readonly Option[] {
  const { kind, flag } = option;
  if (kind === 'switch') {
    const off = new Option(offFlagOf(option.key), describe(option));
    const on = new Option(flag, describe(option));
    return option.default === 'true' ? [on.hideHelp(), off] : [on, off.hideHelp()];
  }
  const placeholder = shortPlaceholder(option);
  const value = new Option(
    `${shownFlags(option).join(', ')} ${option.mayBeBare ? `[${placeholder}]` : `<${placeholder}>`}`,
    describe(option),
  );
  return [kind === 'list' ? value.argParser(collect) : value];
}

/** A long choice would push the descriptions of all options off the screen. */
const shortPlaceholder = ({ placeholder, choices }: OptionInfo): string =>
  choices === undefined || placeholder.length <= MAX_PLACEHOLDER_LENGTH ? placeholder : 'NAME';

function describe(option: OptionInfo): string {
  const { description, required, kind, placeholder, choices = [], default: standard } = option;
  const choice = shortPlaceholder(option) === placeholder ? '' : ` One of ${choices.join(', ')}.`;
  if (required) return `${description}${choice} Required.`;
  const isStandard =
    standard === undefined || standard === '' || kind === 'switch' ? '' : ` (default: ${standard})`;
  return `${description}${choice}${isStandard}`;
}

const collect = (value: string, earlier: readonly string[] = []): readonly string[] => [...earlier, value];

function positionals(verb: Verb, given: readonly unknown[]): OptionSources['flags'] {
  const options = verb.options.filter(({ positional }) => positional);
  return Object.fromEntries(
    options.flatMap(({ key }, index) => {
      const value = given[index];
      return isGiven(value) ? [[key, value]] : [];
    }),
  );
}

const isGiven = (value: unknown): value is string | readonly string[] =>
  typeof value === 'string' || (Array.isArray(value) && value.length > 0);

/** Commander's messages, as one calm sentence each. */
const REWORDED: readonly (readonly [RegExp, string])[] = [
  [/^error: /, ''],
  [/\n\(Did you mean (.*)\?\)$/, '; did you mean $1?'],
  [/^missing required argument '(.*)'$/, 'the argument $1 is missing'],
  [/^option '(.*)' argument missing$/, 'the option $1 needs a value'],
  // Its value may be a secret.
  [/^unknown option '([^=']*).*'/s, 'there is no option $1'],
  [
    /^too many arguments\. Expected (\d+) .* but got \d+: (.*)\.$/,
    'too many arguments: $2 (the verb takes $1)',
  ],
];

function usageError({ message }: CommanderError, verb: Verb): FleetGcError {
  const text = REWORDED.reduce((reworded, [pattern, wording]) => reworded.replace(pattern, wording), message);
  const [, flag = ''] = /^there is no option (--[^=\s;]+|-[a-zA-Z])/.exec(text) ?? [];
  const whyNot = whyNoFlag(flag, verb);
  if (whyNot !== undefined)
    return new FleetGcError('USAGE', withHelp(`there is no option ${flag}: ${whyNot}`, verb));
  const unknown = flag.startsWith('--') ? flag : undefined;
  const meant = unknown === undefined ? undefined : fullFlag(unknown, verb);
  if (meant === undefined) return new FleetGcError('USAGE', withHelp(text, verb));
  return new FleetGcError('USAGE', `${text.replace(/; did you mean .*$/, '')}; did you mean ${meant}?`);
}

/** Whoever is told what was meant needs no help. */
const withHelp = (text: string, { name }: Verb): string =>
  text.includes('; did you mean ') ? text : `${text}; see fleetgc ${name} --help`;

/** Of an option that was cut off, as `--state-dir`, or stands in the plural, as `--nodes`; the library's own suggestions only know of misspelt ones. */
function fullFlag(beginning: string, { options }: Verb): string | undefined {
  const flags = options.filter(({ positional }) => !positional).map(({ flag }) => flag);
  const [only, ...others] = flags.filter((flag) => flag.startsWith(beginning.replace(/s$/, '')));
  return others.length === 0 ? only : undefined;
}

/*
 * What people type who know kubectl, and what they are told where a verb has it not.
 */

const ONE_FORM = 'this verb prints in one form alone';
const NO_NAMESPACE = 'what this verb tells of is in no namespace, or of all of them';
const ALL_NAMESPACES = 'what is in namespaces is always shown of all of them';
const NO_API_SERVER = 'this verb asks no API server, and the event log has no contexts';

const TOLD: ReadonlyMap<string, string> = new Map([
  ['-o', ONE_FORM],
  ['--output', ONE_FORM],
  ['-n', NO_NAMESPACE],
  ['--namespace', NO_NAMESPACE],
  ['-A', ALL_NAMESPACES],
  ['--all-namespaces', ALL_NAMESPACES],
  ['--context', NO_API_SERVER],
  ['--kubeconfig', NO_API_SERVER],
]);

/** Why the verb has not this flag of kubectl; `undefined` for any other. */
function whyNoFlag(flag: string, { options }: Verb): string | undefined {
  const hasNamespace = options.some(({ key }) => key === 'namespace');
  if (TOLD.get(flag) === ALL_NAMESPACES && hasNamespace) return 'name one namespace with -n';
  return TOLD.get(flag);
}

/** kubectl takes `-o=json` too. What follows `--` is no option. */
function withoutSignBehindShortFlags(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return args.flatMap((arg, index) => {
    const [, flag = '', value = ''] = /^(-[a-zA-Z])=(.*)$/s.exec(arg) ?? [];
    return flag === '' || (end >= 0 && index > end) ? [arg] : [flag, value];
  });
}
