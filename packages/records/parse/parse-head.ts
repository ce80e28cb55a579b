import { isUtf8 } from 'node:buffer';
import { DiskStatsHead } from '../../../schemas/events/disk-stats.ts';
import { SUBJECTS } from '../../../schemas/events/identity.ts';
import { InventoryHead } from '../../../schemas/events/inventory.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { EventHead } from '../../decision/overtaking.ts';
import type { LogRecord } from '../../log/port.ts';
import { disagreement } from './parse-record.ts';

/**
 * The events that can be passed over, by topic: as much of each as it takes to know whether. Audit reads old events by it too, so it
 * asks for nothing that they lack.
 */
export const HEADS = { inventory: InventoryHead, diskStats: DiskStatsHead } as const;

/** Agents write what is asked for first; what does not begin with it is read whole. */
const HEAD_BYTES = 16 * 1024;

/**
 * The beginning of an event, for a small part of what it takes to parse the whole: its lists are not looked at. `null` where it
 * cannot be told, and then `parseRecord` says what the record is.
 */
export function parseHead(topic: keyof typeof HEADS, record: LogRecord): EventHead | null {
  const { value } = record;
  if (value === null || value.length > TOPICS[topic].bounds.bytes || !isUtf8(value)) return null;
  const head = HEADS[topic];
  const beginning = jsonBeginning(value.toString('utf8', 0, HEAD_BYTES), Object.keys(head.shape));
  const { data } = head.safeParse(beginning);
  if (data === undefined) return null;
  const { keyOf } = SUBJECTS[TOPICS[topic].key];
  return disagreement(keyOf(data), data, record) ? null : data;
}

const OPENING = /\s*\{/y;
const NAME = /\s*"((?:[^"\\]|\\.)*)"\s*:/sy;
/** A bracket that opens, one that closes, or what stands between brackets. */
const TOKEN = /\s*(?:([{[])|([}\]])|[,:]|"(?:[^"\\]|\\.)*"|[^\s,:"{}[\]]+)/sy;
const COMMA = /\s*,/y;

/**
 * An object of the first members of the object that a JSON text is, as many as it takes to have all these names. `undefined` where
 * they are not all there, or where the text is no JSON up to there. What comes after them is not looked at.
 */
export function jsonBeginning(text: string, names: readonly string[]): unknown {
  const missing = new Set(names);
  let end = endOf(OPENING, text, 0)?.end;
  while (end !== undefined && missing.size > 0) {
    const name = endOf(NAME, text, end);
    const value = name && endOfValue(text, name.end);
    if (name === undefined || value === undefined) return undefined;
    missing.delete(name.found);
    if (missing.size === 0) return parsed(`${text.slice(0, value)}}`);
    end = endOf(COMMA, text, value)?.end;
  }
  return undefined;
}

/** Where a match that begins at `from` ends, and what stands in its first brackets. */
function endOf(pattern: RegExp, text: string, from: number) {
  pattern.lastIndex = from;
  const match = pattern.exec(text);
  return match === null ? undefined : { end: pattern.lastIndex, found: match[1] ?? '' };
}

function endOfValue(text: string, from: number): number | undefined {
  let depth = 0;
  TOKEN.lastIndex = from;
  do {
    const token = TOKEN.exec(text);
    if (token === null) return undefined;
    if (token[1] !== undefined) depth++;
    if (token[2] !== undefined) depth--;
  } while (depth > 0);
  return TOKEN.lastIndex;
}

/** Whether brackets and commas stand where they may is for the parser to say. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
