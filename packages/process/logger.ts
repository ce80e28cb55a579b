import pino, { type Level, type Logger } from 'pino';
import { z } from 'zod';
import { failureText, linesText } from '../text/lines-text.ts';

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

const LogLine = z.looseObject({
  level: z.string(),
  time: z.string(),
  msg: z.string().optional(),
  /** Those of a message of several. */
  lines: z.array(z.string()).optional(),
});

const TIME_OF_DAY = { start: 'yyyy-mm-ddT'.length, end: 'yyyy-mm-ddThh:mm:ss'.length } as const;

/**
 * A line of the log as people read it: `10:15:02 warn  message (attempt=2, port=9090)`, or for the failure that
 * ended the process `fleetgc VERB: message`.
 */
function prettyLine(json: string): string {
  const { level, time, msg = '', lines = [msg], service, err, ...fields } = LogLine.parse(JSON.parse(json));
  if (level === 'fatal') return `${failureText(`fleetgc ${plain(service)}`, lines)}${stackText(err)}`;
  const details = Object.entries(fields).map(([name, value]) => `${name}=${plain(value)}`);
  const suffix = details.length > 0 ? ` (${details.join(', ')})` : '';
  const clock = time.slice(TIME_OF_DAY.start, TIME_OF_DAY.end);
  const [first = '', ...more] = lines;
  return `${linesText([`${clock} ${level.padEnd(5)} ${first}${suffix}`, ...more])}${stackText(err)}`;
}

const plain = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const WithStack = z.object({ stack: z.string() });

/** Where a call of a stack, or the error that led to one, begins: all else is the message, which others may have written. */
const NEXT_IN_STACK = /\n(?=\s+at |caused by: )/;

/** Only what nobody foresaw is logged with its stack. */
export function stackText(err: unknown): string {
  const { success, data } = WithStack.safeParse(err);
  return success ? linesText(data.stack.split(NEXT_IN_STACK).map((line) => `    ${line}`)) : '';
}
