import type { LogRecord } from '../../shared/event-log/port.ts';
import { type Findings, placeOf } from './findings.ts';

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** Tells of a record that has a member twice: JSON.parse takes the last of them, and other readers the first. */
export function tellDoubledMember(
  { deviation }: Pick<Findings, 'deviation'>,
  record: LogRecord,
  parsed: unknown,
): void {
  const name = record.value === null ? null : doubledMember(record.value, parsed);
  if (name === null) return;
  deviation({
    kind: 'doubled-member',
    message: doubledText(name),
    node: record.key,
    places: [placeOf(record)],
  });
}

/** What is wrong with it, for people. */
export const doubledText = (name: string): string =>
  `one object in it has the member ${JSON.stringify(name)} twice: FleetGC takes the last, and others may take the first`;

/** The first name that stands twice in one object of a JSON text; `parsed` is what JSON.parse made of it. */
export function doubledMember(json: Buffer, parsed: unknown): string | null {
  return colonsIn(json) === membersOf(parsed) ? null : findDoubled(json.toString('utf8'));
}

/** As many as the text has members, those that stand twice among them. */
function colonsIn(json: Buffer): number {
  let colons = 0;
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) isText = !isText;
    else if (byte === BACKSLASH) at++;
    else if (byte === COLON && !isText) colons++;
  }
  return colons;
}

/** However deep it is: a text of nothing but brackets is JSON too. */
function membersOf(parsed: unknown): number {
  let members = 0;
  const left = [parsed].filter(isObject);
  for (let object = left.pop(); object !== undefined; object = left.pop()) {
    const within: readonly unknown[] = Object.values(object);
    if (!Array.isArray(object)) members += within.length;
    for (const one of within) if (isObject(one)) left.push(one);
  }
  return members;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const TOKEN = /("(?:[^"\\]|\\.)*")\s*(:?)|([{[])|[}\]]/gs;

/** Of a text that is JSON. */
function findDoubled(json: string): string | null {
  const open: Set<string>[] = [];
  for (const [, text, colon, bracket] of json.matchAll(TOKEN)) {
    if (bracket !== undefined) open.push(new Set());
    else if (text === undefined) open.pop();
    else if (colon === ':') {
      // One name can be written in several ways.
      const name = String(JSON.parse(text));
      if (open.at(-1)?.has(name)) return name;
      open.at(-1)?.add(name);
    }
  }
  return null;
}
