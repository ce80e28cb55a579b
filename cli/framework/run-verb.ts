import { toFleetGcError } from '../../packages/process/errors.ts';
import { createLogger, type LogDestination } from '../../packages/process/logger.ts';
import type { OptionSources } from '../../packages/process/options/config.ts';
import { type ProcessControl, runProcess } from '../../packages/process/run.ts';
import type { PreparedVerb, Verb } from './verb.ts';

/** What a verb's process has to the outside. */
export interface VerbOutside {
  readonly control: ProcessControl;
  readonly stderr: LogDestination;
  /** Writes one line to stdout. */
  readonly print: (line: string) => void;
  /** Writes text to stdout as it is; resolves once the reader has room for more. */
  readonly write: (text: string) => Promise<void>;
  /** Width of the terminal that stdout is; `null` when it is none. */
  readonly terminalColumns: number | null;
  /** About what the verb was given, a sentence each; told first, also where the options are wrong. */
  readonly warnings: readonly string[];
  /** Whether the verb runs until it is told to stop. */
  readonly endless: boolean;
}

/** Reads the options and runs the verb until it ends or is told to stop. Returns the exit code. */
export async function runVerb(verb: Verb, sources: OptionSources, outside: VerbOutside): Promise<number> {
  const { control, stderr, warnings, endless, print, write, terminalColumns } = outside;
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
  return await runProcess((signal) => prepared.run({ signal, logger, print, write, terminalColumns }), {
    logger,
    control,
    shutdownLimitMs: verb.shutdownLimitMs,
    endless,
  });
}
