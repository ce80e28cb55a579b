import pino, { type Level, type Logger } from 'pino';
import { prettyLine } from './pretty-line.ts';

/** Where log lines go; the process's stderr, or a list in tests. */
export interface LogDestination {
  readonly isTerminal: boolean;
  write(line: string): void;
}

export interface LoggerSettings {
  /** Name of the verb, in every line. */
  readonly service: string;
  readonly level: Level | 'silent';
}

/** Secrets never get into a line, even when a client library logs its whole configuration. */
const SECRET_PATHS = ['password', '*.password', '*.*.password', 'sasl', '*.sasl'];

/** JSON, one object a line; on a terminal a line for people. */
export function createLogger({ service, level }: LoggerSettings, destination: LogDestination): Logger {
  const lines = destination.isTerminal
    ? { write: (json: string) => destination.write(prettyLine(json)) }
    : destination;
  return pino(
    {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_PATHS, censor: '[secret]' },
    },
    lines,
  );
}
