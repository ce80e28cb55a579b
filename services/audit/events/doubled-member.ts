/** What is wrong with it, for people. */
export const doubledText = (name: string): string =>
  `one object in it has the member ${JSON.stringify(name)} twice: FleetGC takes the last, and others may take the first`;

/** The first name that stands twice in one object of a JSON text; `parsed` is what JSON.parse made of it. */
export const doubledMember = (json: Buffer, parsed: unknown): string | null =>
  namesIn(json) === membersOf(parsed) ? null : findDoubled(json.toString('utf8'));

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

const TOKEN = /("(?:[^"\\]|\\.)*")\s*(:?)|([{[])|[}\]]/gs;

/** Of a text that is JSON. */
function findDoubled(text: string): string | null {
  const open: Set<string>[] = [];
  for (const [, quoted, colon, bracket] of text.matchAll(TOKEN)) {
    if (bracket !== undefined) open.push(new Set());
    else if (quoted === undefined) open.pop();
    else if (colon === ':') {
      // One name can be written in several ways.
      const name = String(JSON.parse(quoted));
      if (open.at(-1)?.has(name)) return name;
      open.at(-1)?.add(name);
    }
  }
  return null;
}
