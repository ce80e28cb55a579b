import type { Attributes } from './position.ts';
import { type Refused, refused } from './problem.ts';

const PREFIX = 'ce-';
/** Headers of HTTP that say of an event what its attributes would. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ['content-type', 'datacontenttype'],
  ['traceparent', 'traceparent'],
  ['tracestate', 'tracestate'],
]);

/** The attributes that stand in the headers of a request in binary mode. `rawHeaders`: names and values by turns, as they came. */
export function attributesOfHeaders(rawHeaders: readonly string[]): Attributes | Refused {
  const headers = headersIn(rawHeaders).filter(
    ({ name }) => name.startsWith(PREFIX) || OTHER_NAMES.has(name),
  );
  const names = headers.map(({ name }) => name);
  const doubled = names.find((name, index) => names.indexOf(name) !== index);
  if (doubled !== undefined) return refused('bad-attribute', `the header ${doubled} stands there twice`);
  const bad = headers.find(({ text }) => text === null);
  if (bad !== undefined)
    return refused('bad-attribute', `the value of ${bad.name} is not encoded as CloudEvents has it`);
  if (names.includes('ce-datacontenttype'))
    return refused('bad-attribute', 'in binary mode Content-Type says what the data is, and no attribute');
  // What an attribute says of a trace is of the event, and what a header says of this request.
  const inOrder = headers.toSorted(
    (a, b) => Number(OTHER_NAMES.has(b.name)) - Number(OTHER_NAMES.has(a.name)),
  );
  return new Map(
    inOrder.map(({ name, text }) => [OTHER_NAMES.get(name) ?? name.slice(PREFIX.length), text ?? '']),
  );
}

interface Header {
  /** In lower case. */
  readonly name: string;
  /** `null` where it is not encoded as it has to be. */
  readonly text: string | null;
}

const headersIn = (rawHeaders: readonly string[]): readonly Header[] =>
  rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [{ name: name.toLowerCase(), text: decoded(rawHeaders[index + 1] ?? '') }] : [],
  );

/** Percent-encoded UTF-8; `null` for what is not. */
function decoded(text: string): string | null {
  if (!/^[\x20-\x7e]*$/.test(text)) return null;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** What CloudEvents has encoded in headers: space, quote, percent, and all that is not printable ASCII. */
export const encodedHeader = (text: string): string =>
  text.replace(/[^\x21\x23\x24\x26-\x7e]+/gu, (part) => encodeURIComponent(part));
