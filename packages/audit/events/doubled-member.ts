import { doubledName, type OpenNames } from '../../records/parse/doubled-name.ts';

/** What is wrong with it, for people. */
export const doubledText = (name: string): string =>
  `one object in it has the member ${JSON.stringify(name)} twice: FleetGC takes the last, and others may take the first`;

/** The first name that stands twice in one object of a JSON text; `parsed` is what JSON.parse made of it. */
export const doubledMember = (json: Buffer, parsed: unknown): string | null =>
  namesIn(json) === membersOf(parsed) ? null : doubledName(json.toString('utf8'), new NamesOfAll());

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** How many members the text has: colons that stand in no text. What UTF-8 writes in several bytes has none of these in it. */
function namesIn(json: Buffer): number {
  let names = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) at = endOfText(json, at + 1);
    else if (byte === COLON) names += 1;
  }
  return names;
}

/** Where the quote stands that ends a text. */
function endOfText(json: Buffer, from: number): number {
  let at = from;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
}

/**
 * How many members the value has: of two with one name in an object JSON.parse keeps one. It does not call itself: a value may be as
 * deep as somebody likes.
 */
function membersOf(value: unknown): number {
  let members = 0;
  const left = [value];
  for (let next = left.pop(); next !== undefined; next = left.pop())
    if (Array.isArray(next)) for (const item of next) takeNested(left, item);
    else if (isObject(next)) members += takeMembers(left, next);
  return members;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

function takeNested(left: unknown[], value: unknown): void {
  if (isObject(value)) left.push(value);
}

/** A loop over names makes no list of them. */
function takeMembers(left: unknown[], object: Readonly<Record<string, unknown>>): number {
  let members = 0;
  for (const name in object) {
    members += 1;
    takeNested(left, object[name]);
  }
  return members;
}

class NamesOfAll implements OpenNames {
  readonly #open: Set<string>[] = [];

  step(step: number): void {
    if (step > 0) this.#open.push(new Set());
    if (step < 0) this.#open.pop();
  }

  isWatched(): boolean {
    return true;
  }

  add(name: string): boolean {
    const names = this.#open.at(-1);
    if (names?.has(name)) return false;
    names?.add(name);
    return true;
  }
}
