import { z } from 'zod';
import { onWideFile } from '../../packages/files/wide-files.ts';
import { toFleetGcError } from '../../packages/process/errors.ts';
import { createLogger, type LogDestination, stackText } from '../../packages/process/logger.ts';
import type { OptionSources } from '../../packages/process/options/read-options.ts';
import { type ProcessControl, runProcess } from '../../packages/process/run.ts';
import { failureText, linesText } from '../../packages/text/lines-text.ts';
import { namedAs, programName } from './called-as.ts';
import { refuseElsewhere } from './linux-verbs.ts';
import { gatherSources, unknownVariables } from './option-sources.ts';
import { ProgressLine } from './progress.ts';
import type { LoadVerbs, PreparedVerb, Verb } from './verb.ts';
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
