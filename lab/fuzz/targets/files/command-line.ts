import { z } from 'zod';
import type { Verb } from '../../../../cli/framework/verb.ts';
import { readVerbArguments } from '../../../../cli/framework/verb-arguments.ts';
import { findVerb, loadAllVerbs } from '../../../../cli/verbs.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { type Outcome, PASSED, REFUSED, type Target } from '../../engine/target.ts';
import type { Json } from '../../mutate/json.ts';
import { schemaOf } from '../../mutate/schema.ts';

const CommandLine = z.object({
  argv: z.array(z.string()).catch([]),
  environment: z.record(z.string(), z.string()).catch({}),
  /** The text of the file that `--config` names. */
  config: z.string().nullable().catch(null),
});
type CommandLine = z.infer<typeof CommandLine>;

const verbs = await loadAllVerbs();
const byName = new Map(verbs.map((verb) => [verb.name, verb]));
const options = verbs.flatMap((verb) => verb.options);
const flags = [...new Set(options.flatMap(({ flag }) => [flag, flag.replace('--', '--no-')]))];
const variables = [...new Set(options.map(({ variable }) => variable))];
const VALUES = [
  '1',
  '30d',
  'true',
  'a=b',
  '127.0.0.1:9640',
  'kafka-1:9092,kafka-2:9092',
  'embedded',
  'off',
  'json',
];

/** `fleetgc policy apply policy.yaml`, as somebody types it. */
const wordsOf = (example: string): readonly string[] =>
  example
    .replace(/^.*?fleetgc /, '')
    .split(/\s+/)
    .filter((word) => word !== '' && word !== '\\');

/** From the words to what a verb would run with; nothing is run. */
function prepared(commandLine: CommandLine): Outcome {
  try {
    const wanted = findVerb(commandLine.argv);
    if (wanted.kind !== 'verb') return PASSED;
    const verb = byName.get(wanted.verb.name);
    return verb === undefined ? REFUSED : preparedVerb(verb, wanted.rest, commandLine);
  } catch (error) {
    if (error instanceof FleetGcError && error.exitCode === 2) return REFUSED;
    throw error;
  }
}

function preparedVerb(verb: Verb, rest: readonly string[], { environment, config }: CommandLine): Outcome {
  const given = readVerbArguments(verb, rest);
  if (given.kind === 'help') return given.text === '' ? { passed: true, effect: 'help is empty' } : PASSED;
  const file = config === null ? null : { path: 'config.yaml', text: config };
  verb.prepare({ flags: given.flags, environment, file, otherKeys: new Set(options.map(({ key }) => key)) });
  return PASSED;
}

const line = (argv: readonly string[], over: Partial<CommandLine> = {}): Json => ({
  argv,
  environment: {},
  config: null,
  ...over,
});

export const commandLine: Target = {
  readers: verbs.map(({ name }) => name),
  schema: schemaOf(
    z.object({
      argv: z.array(z.enum([...flags, ...VALUES])),
      environment: z.partialRecord(z.enum(variables), z.enum(VALUES)),
      config: z.string().nullable(),
    }),
  ),
  seeds: () => [
    ...verbs.flatMap((verb) => [
      ...verb.examples.map((example) => line(wordsOf(example))),
      line([...verb.name.split(' '), '--help']),
    ]),
    line(['run', '--policy', 'a.yaml'], { config: 'logLevel: debug\nkafkaBrokers: [a:1, b:2]\n' }),
    line(['decide'], { environment: { FLEETGC_KAFKA_BROKERS: 'a:1', FLEETGC_TRUST: 'off' } }),
    line(['--version']),
  ],
  open: () => (input) => {
    const { data } = CommandLine.safeParse(input);
    return data === undefined ? REFUSED : prepared(data);
  },
};
