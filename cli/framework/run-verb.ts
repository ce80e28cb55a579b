import { z } from 'zod';
import { toFleetGcError } from '../../packages/process/errors.ts';
import { createLogger, type LogDestination } from '../../packages/process/logger.ts';
import type { OptionSources } from '../../packages/process/options/read-options.ts';
import { type ProcessControl, runProcess } from '../../packages/process/run.ts';
import { printable } from '../../packages/text/printable.ts';
import { namedAs, programName } from './called-as.ts';
import { refuseElsewhere } from './linux-verbs.ts';
import { gatherSources, unknownVariables } from './option-sources.ts';
import type { LoadVerbs, PreparedVerb, Verb } from './verb.ts';
import { readVerbArguments } from './verb-arguments.ts';

/** What the process that `fleetgc` runs in gives it. */
export interface CommandProcess {
  readonly environment: OptionSources['environment'];
  readonly control: ProcessControl;
  /** Resolves once the reader of stdout has room for more. */
  readonly writeOut: (text: string) => Promise<void>;
  /** Width of the terminal that stdout is; `null` when it is none. */
  readonly terminalColumns: number | null;
  readonly stderr: LogDestination;
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
  { environment, control, writeOut, terminalColumns, stderr }: CommandProcess,
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
  return await runVerb(verb, sources, {
    control,
    stderr: endless ? onTerminal(stderr) : inPlainSentences(stderr),
    endless,
    print: (line) => void writeOut(`${line}\n`),
    write: writeOut,
    terminalColumns,
    warnings: await unknownVariables(environment, verb, allVerbs),
    allVerbs,
  });
}

const isService = ({ kind, serviceSwitch }: Verb, flags: OptionSources['flags']): boolean =>
  kind === 'service' || (serviceSwitch !== undefined && flags[serviceSwitch] === true);

/** What a verb has of its process. */
export interface VerbProcess extends Pick<CommandProcess, 'control' | 'stderr' | 'terminalColumns'> {
  /** Writes one line to stdout. */
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
  const { control, stderr, warnings, endless, print, write, terminalColumns, allVerbs } = process;
  let prepared: PreparedVerb;
  try {
    prepared = verb.prepare(sources);
  } catch (thrown) {
    const { message, exitCode } = toFleetGcError(thrown);
    for (const warning of warnings) stderr.write(`warning: ${warning}\n`);
    stderr.write(`fleetgc ${verb.name}: ${message}\n`);
    return exitCode;
  }
  const logger = createLogger({ service: verb.name, level: prepared.logging.logLevel }, stderr);
  for (const warning of warnings) logger.warn(warning);
  const { environment } = sources;
  const body = (signal: AbortSignal): Promise<void> =>
    prepared.run({ signal, logger, print, write, terminalColumns, environment, allVerbs });
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
  /** The cause, where something goes on without what failed. */
  problem: z.string().optional().catch(undefined),
  err: z.object({ stack: z.string() }).optional(),
});

/** What others wrote stands in messages too, as the names of objects do. JSON, which others read, stays as it is. */
const onTerminal = (stderr: LogDestination): LogDestination =>
  stderr.isTerminal ? { isTerminal: true, write: (line) => stderr.write(printable(line)) } : stderr;

/** A task writes its messages to stderr as plain sentences, on a terminal and elsewhere alike: what it does, and in the end what went wrong. */
const inPlainSentences = (stderr: LogDestination): LogDestination => ({
  isTerminal: false,
  write: (line) => stderr.write(line.startsWith('{') ? plainSentence(line) : line),
});

const plainSentence = (json: string): string => printable(sentenceOf(json));

function sentenceOf(json: string): string {
  const { level, service, msg, problem, err } = LoggedLine.parse(JSON.parse(json));
  const stack = err === undefined ? '' : `${err.stack}\n`;
  if (level === 'fatal') return `fleetgc ${service}: ${msg}\n${stack}`;
  const cause = problem === undefined ? '' : ` (${problem})`;
  return `${level === 'warn' ? 'warning: ' : ''}${msg}${cause}\n${stack}`;
}
