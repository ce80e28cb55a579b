import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { Schedule } from './schedule.ts';

/** From a file that somebody cut out of the outcomes; throws an `Error` with one sentence for what is none. */
export function readSchedule(path: string): Schedule {
  const parsed = Schedule.safeParse(jsonOf(path));
  if (parsed.success) return parsed.data;
  throw new Error(
    `${path} is no schedule: it has to be what stands under "schedule" in a line of the outcomes.\n${z.prettifyError(parsed.error)}`,
  );
}

function jsonOf(path: string): unknown {
  const text = textIn(path);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${path} is no JSON: ${error instanceof Error ? error.message : error}`);
  }
}

function textIn(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`${path} cannot be read: ${error instanceof Error ? error.message : error}`);
  }
}
