import { endOfText, stepOf } from '../../../packages/pipeline/parse/json-bounds.ts';

const QUOTE = 0x22;
const COLON = 0x3a;
const SPACE = 0x20;

/**
 * The name of a member that stands twice in an object at this depth of a JSON text, `null` where none does. Whoever looked at the request
 * on its way may have read the other one. An object with more than `most` names is nothing that is read: it costs no more than the others.
 * Linear in the text; the text is JSON, since it was parsed.
 */
export function doubledMember(text: string, depth: number, most: number): string | null {
  const seen = new SeenNames(depth, most);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code !== QUOTE) {
      seen.step(stepOf(code));
      continue;
    }
    const end = endOfText(text, at + 1);
    const name =
      seen.isWatched() && isName(text, end + 1) ? String(JSON.parse(text.slice(at, end + 1))) : null;
    if (name !== null && !seen.add(name)) return name;
    at = end;
  }
  return null;
}

/** The names of the object that is open at the depth. */
class SeenNames {
  readonly #depth: number;
  readonly #most: number;
  #level = 0;
  #names = new Set<string>();

  constructor(depth: number, most: number) {
    this.#depth = depth;
    this.#most = most;
  }

  step(step: number): void {
    this.#level += step;
    if (step > 0 && this.#level === this.#depth) this.#names = new Set();
  }

  isWatched(): boolean {
    return this.#level === this.#depth && this.#names.size <= this.#most;
  }

  /** Whether it is new. */
  add(name: string): boolean {
    const before = this.#names.size;
    return this.#names.add(name).size > before;
  }
}

function isName(text: string, from: number): boolean {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= SPACE) at++;
  return text.charCodeAt(at) === COLON;
}
