import { z } from 'zod';

const LogLine = z.looseObject({
  level: z.string(),
  time: z.string(),
  msg: z.string().optional(),
});

const TIME_OF_DAY = { start: 'yyyy-mm-ddT'.length, end: 'yyyy-mm-ddThh:mm:ss'.length } as const;

/**
 * A line of the log as people read it: `10:15:02 warn  message (attempt=2, port=9090)`, or for the failure that
 * ended the process `fleetgc VERB: message`.
 */
export function prettyLine(json: string): string {
  const { level, time, msg = '', service, err, ...fields } = LogLine.parse(JSON.parse(json));
  if (level === 'fatal') return `fleetgc ${plain(service)}: ${msg}\n${stackOf(err)}`;
  const details = Object.entries(fields).map(([name, value]) => `${name}=${plain(value)}`);
  const suffix = details.length > 0 ? ` (${details.join(', ')})` : '';
  const clock = time.slice(TIME_OF_DAY.start, TIME_OF_DAY.end);
  return `${clock} ${level.padEnd(5)} ${msg}${suffix}\n${stackOf(err)}`;
}

const plain = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const WithStack = z.object({ stack: z.string() });

/** Only what nobody foresaw is logged with its stack. */
function stackOf(err: unknown): string {
  const { success, data } = WithStack.safeParse(err);
  return success ? `${data.stack.replaceAll(/^/gm, '    ')}\n` : '';
}
