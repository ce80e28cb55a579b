import { z } from 'zod';
import { onWideFile } from '../../packages/files/wide-files.ts';
import { FleetGcError, toFleetGcError } from '../../packages/process/errors.ts';
import { createLogger, type LogDestination, stackText } from '../../packages/process/logger.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import type { OptionSources } from '../../packages/process/options/read-options.ts';
import { type ProcessControl, runProcess } from '../../packages/process/run.ts';
import { failureText, linesText } from '../../packages/text/lines-text.ts';
import { nearestName } from '../../packages/text/nearest-name.ts';
import { namedAs, programName, whyMissing } from './program.ts';
import { type LoadVerbs, type PreparedVerb, ProgressLine, type Verb } from './verb.ts';
import { readVerbArguments } from './verb-arguments.ts';
import { WrittenRecords } from './written-records.ts';

/** What the process that `fleetgc` runs in gives it. */
export interface CommandProcess {
  readonly environment: OptionSources['environment'];
  readonly control: ProcessControl;
  /** Resolves once the reader of stdout has room for more. */
  readonly writeOut: (text: string) => Promise<void>;
  /** Width of the terminal that stdout is; `null` when it is none. */
  readonly terminalColumns: number | null;
  readonly stderr: LogDestination;
  /** Milliseconds of a clock that does not jump. */
  readonly monotonicNow: () => number;
}

interface GivenVerb {
  readonly verb: Verb;
  /** The arguments behind its name. */
  readonly rest: readonly string[];
  /** Loads the code of every verb, for their options. */
  readonly allVerbs: LoadVerbs;
}

/** Reads the options of the verb from everywhere, and runs it. Returns the exit code. */
export async function runGivenVerb(
  { verb, rest, allVerbs }: GivenVerb,
  { environment, control, writeOut, terminalColumns, stderr, monotonicNow }: CommandProcess,
  platform: NodeJS.Platform,
): Promise<number> {
  const given = readVerbArguments(verb, rest);
  if (given.kind === 'help') {
    await writeOut(namedAs(programName(environment), given.text));
    return 0;
  }
  refuseElsewhere(verb.name, given.flags, platform);
  const sources = await gatherSources({ ...given, environment }, allVerbs);
  const endless = isService(verb, given.flags);
  const progress = new ProgressLine(stderr, monotonicNow);
  return await runVerb(verb, sources, {
    control,
    stderr: clearing(progress, endless ? stderr : inPlainSentences(stderr)),
    progress,
    endless,
    print: (line) => {
      progress.clear();
      void writeOut(linesText([line]));
    },
    write: (text) => {
      progress.clear();
      return writeOut(text);
    },
    terminalColumns,
    warnings: await unknownVariables(environment, verb, allVerbs),
    allVerbs,
  });
}

const isService = ({ kind, serviceSwitch }: Verb, flags: OptionSources['flags']): boolean =>
  kind === 'service' || (serviceSwitch !== undefined && flags[serviceSwitch] === true);

/** What a verb has of its process. */
export interface VerbProcess extends Pick<CommandProcess, 'control' | 'stderr' | 'terminalColumns'> {
  readonly progress: ProgressLine;
  /** Writes a line to stdout: what others wrote in it is made printable, and begins no other. */
  readonly print: (line: string) => void;
  /** Writes text to stdout as it is; resolves once the reader has room for more. */
  readonly write: (text: string) => Promise<void>;
  /** About what the verb was given, a sentence each; told first, also where the options are wrong. */
  readonly warnings: readonly string[];
  /** Whether the verb runs until it is told to stop. */
  readonly endless: boolean;
  readonly allVerbs: LoadVerbs;
}

/** Reads the options and runs the verb until it ends or is told to stop. Returns the exit code. */
export async function runVerb(verb: Verb, sources: OptionSources, process: VerbProcess): Promise<number> {
  const { control, stderr, progress, warnings, endless, print, write, terminalColumns, allVerbs } = process;
  let prepared: PreparedVerb;
  try {
    prepared = verb.prepare(sources);
  } catch (thrown) {
    const { lines, exitCode } = toFleetGcError(thrown);
    for (const warning of warnings) stderr.write(linesText([`warning: ${warning}`]));
    stderr.write(failureText(`fleetgc ${verb.name}`, lines));
    return exitCode;
  }
  const logger = createLogger({ service: verb.name, level: prepared.logging.logLevel }, stderr);
  for (const warning of warnings) logger.warn(warning);
  using _wide = onWideFile((message) => logger.warn(message));
  const { environment } = sources;
  const written = new WrittenRecords();
  const body = async (signal: AbortSignal): Promise<void> => {
    const output = { print, write, terminalColumns, progress };
    try {
      await prepared.run({ signal, logger, ...output, written, environment, allVerbs });
    } catch (error) {
      throw written.told(error);
    }
    progress.clear();
  };
  return await runProcess(body, {
    logger,
    control,
    shutdownLimitMs: verb.shutdownLimitMs,
    endless,
  });
}

const LoggedLine = z.object({
  level: z.string(),
  service: z.string(),
  msg: z.string(),
  lines: z.array(z.string()).optional(),
  /** The cause, where something goes on without what failed. */
  problem: z.string().optional().catch(undefined),
  err: z.unknown().optional(),
});

/** Takes the line of progress off the terminal before a message. */
const clearing = ({ clear }: ProgressLine, stderr: LogDestination): LogDestination => ({
  isTerminal: stderr.isTerminal,
  write: (line) => {
    clear();
    return stderr.write(line);
  },
});

/** A task writes its messages to stderr as plain sentences, on a terminal and elsewhere alike: what it does, and in the end what went wrong. */
const inPlainSentences = (stderr: LogDestination): LogDestination => ({
  isTerminal: false,
  write: (line) => stderr.write(line.startsWith('{') ? plainSentence(line) : line),
});

function plainSentence(json: string): string {
  const { level, service, msg, lines = [msg], problem, err } = LoggedLine.parse(JSON.parse(json));
  if (level === 'fatal') return `${failureText(`fleetgc ${service}`, lines)}${stackText(err)}`;
  const [first = '', ...more] = lines;
  const cause = problem === undefined ? '' : ` (${problem})`;
  return `${linesText([`${level === 'warn' ? 'warning: ' : ''}${first}${cause}`, ...more])}${stackText(err)}`;
}

type Environment = OptionSources['environment'];

const PREFIX = 'FLEETGC_';
const CONFIG_VARIABLE = 'FLEETGC_CONFIG';

/** Kubernetes gives every container variables for each service, which may well be called fleetgc. */
const OF_A_SERVICE = /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;
const SERVICE_URL = /^(tcp|udp|sctp):\/\//;

interface Given {
  readonly flags: OptionSources['flags'];
  /** Of the config file, as the command line has it. */
  readonly configPath: string | undefined;
  readonly environment: Environment;
}

/** Everything that options are read from. The code of the other verbs is only loaded where there is a config file. */
export async function gatherSources(
  { flags, configPath, environment }: Given,
  allVerbs: LoadVerbs,
): Promise<OptionSources> {
  const file = readConfigFile(configPath ?? environment[CONFIG_VARIABLE]);
  const otherKeys = file === null ? new Set<string>() : fileKeys(await allVerbs());
  return { flags, environment, file, otherKeys, whyMissing: whyMissing(environment) };
}

function readConfigFile(path: string | undefined): OptionSources['file'] {
  if (path === undefined || path === '') return null;
  const read = readTextFile(path);
  if (read.ok) return { path, text: read.text };
  throw new FleetGcError('CONFIG_INVALID', `the config file ${path} cannot be read: ${read.reason}`);
}

/** One config file may serve every verb of a machine, so it may name options of others. */
const fileKeys = (verbs: readonly Verb[]): ReadonlySet<string> =>
  new Set(
    verbs.flatMap(({ options }) => options.filter(({ positional }) => !positional).map(({ key }) => key)),
  );

/**
 * One sentence for each variable that looks like a setting and is none of any verb's. The code of the other verbs is
 * only loaded (`allVerbs`) where `verb` alone does not explain them all.
 */
export async function unknownVariables(
  environment: Environment,
  verb: Verb,
  allVerbs: LoadVerbs,
): Promise<readonly string[]> {
  const own = variablesOf([verb]);
  const notOwn = settingsIn(environment).filter((name) => !own.has(name));
  if (notOwn.length === 0) return [];
  const known = variablesOf(await allVerbs());
  return notOwn.filter((name) => !known.has(name)).map((name) => unknownText(name, known));
}

const settingsIn = (environment: Environment): readonly string[] =>
  Object.entries(environment).flatMap(([name, value = '']) =>
    name.startsWith(PREFIX) && value !== '' && !OF_A_SERVICE.test(name) && !SERVICE_URL.test(value)
      ? [name]
      : [],
  );

const variablesOf = (verbs: readonly Verb[]): ReadonlySet<string> =>
  new Set([
    CONFIG_VARIABLE,
    ...verbs.flatMap(({ options }) =>
      options.filter(({ commandLineOnly }) => !commandLineOnly).map(({ variable }) => variable),
    ),
  ]);

/** What all of them begin with makes no two alike. */
function unknownText(name: string, known: ReadonlySet<string>): string {
  const nearest = nearestName(withoutPrefix(name), [...known].map(withoutPrefix));
  const meant = nearest === undefined ? '' : `; did you mean ${PREFIX}${nearest}?`;
  return `the environment variable ${name} is no setting and is ignored${meant}`;
}

const withoutPrefix = (name: string): string => name.slice(PREFIX.length);

interface LinuxNeed {
  /** What of Linux it looks at, or makes up. */
  readonly needs: string;
  /** The option with which it looks at no machine. */
  readonly unless?: string;
}

const A_NODE = 'it works on a node';
const A_SIMULATED_NODE = 'its simulated nodes have the clock and the sockets of Linux';

/** The verbs that work on Linux alone. All others ask and steer from anywhere. */
const LINUX_VERBS: Readonly<Record<string, LinuxNeed>> = {
  run: { needs: A_NODE },
  node: { needs: A_NODE },
  'node-agent': { needs: A_NODE },
  'node-executor': { needs: A_NODE },
  'cri-proxy': { needs: A_NODE },
  'doctor node': { needs: A_NODE },
  plan: { needs: 'it looks at a node', unless: 'inventory' },
  demo: { needs: A_SIMULATED_NODE },
  'simulate-node': { needs: A_SIMULATED_NODE },
};
export const LINUX_VERB_NAMES: readonly string[] = Object.keys(LINUX_VERBS);

const PLATFORM_NAMES: Partial<Readonly<Record<NodeJS.Platform, string>>> = {
  win32: 'Windows',
  darwin: 'macOS',
};

/** Throws `PLATFORM_UNSUPPORTED` where the verb cannot work on this platform with these options. */
export function refuseElsewhere(
  verbName: string,
  flags: OptionSources['flags'],
  platform: NodeJS.Platform,
): void {
  const need = LINUX_VERBS[verbName];
  if (need === undefined || platform === 'linux') return;
  const { needs, unless } = need;
  if (unless !== undefined && flags[unless] !== undefined) return;
  const where = PLATFORM_NAMES[platform] ?? platform;
  const instead = unless === undefined ? '' : ` With --${unless} it looks at no machine, and works here too.`;
  throw new FleetGcError(
    'PLATFORM_UNSUPPORTED',
    `not supported on ${where}: ${needs}, which has to run Linux. Run it on a Linux machine.${instead} Verbs that ask or steer a fleet work from here, with Kafka.`,
  );
}
