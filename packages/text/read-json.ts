import { endOfText, isName } from './quoted-text.ts';

/** The last escape in the name of a member: the rest of the name comes behind it, and a colon. Finds a few values too. */
const ESCAPED_NAME = /\\["\\]?[^"\\]*"\s*:/;

/**
 * What JSON.parse gives. V8 may read an escaped name as another one that it read before (its issue 521080746): `{"\n":1}` came out as
 * `{"\\":1}` once a name `\` had been read at that place, so that whoever writes one event changed how the next was read. Throws
 * `SyntaxError`.
 */
export function readJson(text: string): unknown {
  return ESCAPED_NAME.test(text) ? withEscapedNames(text) : JSON.parse(text);
}

/** Has V8 read short names without escapes, and puts the real ones in their place. */
function withEscapedNames(text: string): unknown {
  // What is no JSON ends here, and is not searched for names.
  JSON.parse(text);
  const names = new NumberedNames();
  return JSON.parse(numbered(text, names), (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).map(([key, each]) => [names.nameOf(key), each]))
      : value,
  );
}

function numbered(text: string, names: NumberedNames): string {
  const parts: string[] = [];
  let done = 0;
  for (let at = text.indexOf('"'); at !== -1; ) {
    const end = endOfText(text, at + 1) + 1;
    if (isName(text, end)) {
      parts.push(text.slice(done, at), `"${names.numberOf(text.slice(at, end))}"`);
      done = end;
    }
    at = text.indexOf('"', end);
  }
  return `${parts.join('')}${text.slice(done)}`;
}

/** Of one name each has one number, so that the last of two members counts here too. */
class NumberedNames {
  readonly #numbers = new Map<string, string>();
  readonly #names = new Map<string, string>();

  /** `quoted`: as it stands in the text. */
  numberOf(quoted: string): string {
    const name = String(JSON.parse(quoted));
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    // A letter before it: members that are called by numbers alone lose their order.
    const number = `n${this.#numbers.size}`;
    this.#numbers.set(name, number);
    this.#names.set(number, name);
    return number;
  }

  nameOf(number: string): string {
    const name = this.#names.get(number);
    if (name === undefined) throw new SyntaxError('a member without a name');
    return name;
  }
}
