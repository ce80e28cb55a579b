import { z } from 'zod';
import type { LogDestination } from '../packages/process/logger.ts';

const Line = z.object({
  level: z.string(),
  service: z.string(),
  msg: z.string(),
  err: z.object({ stack: z.string() }).optional(),
});

/** A task talks in plain sentences, on a terminal and elsewhere alike: what it does, and in the end what went wrong. */
export const talkTo = (stderr: LogDestination): LogDestination => ({
  isTerminal: false,
  write: (line) => stderr.write(line.startsWith('{') ? talkLine(line) : line),
});

export function talkLine(json: string): string {
  const { level, service, msg, err } = Line.parse(JSON.parse(json));
  const stack = err === undefined ? '' : `${err.stack}\n`;
  if (level === 'fatal') return `fleetgc ${service}: ${msg}\n${stack}`;
  return `${level === 'warn' ? 'warning: ' : ''}${msg}\n${stack}`;
}
