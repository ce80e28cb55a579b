import { endOfText, stepOf } from '../../../packages/pipeline/parse/json-bounds.ts';

const QUOTE = 0x22;
const COLON = 0x3a;
const SPACE = 0x20;

/**
 * The name of a member that stands twice in an object at this depth of a JSON text, `null` where none does. Whoever looked at the request
 * on its way may have read the other one. Linear in the text; the text is JSON, since it was parsed.
 */
export function doubledMember(text: string, depth: number): string | null {
  const seen = new SeenNames(depth);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code !== QUOTE) {
      seen.step(stepOf(code));
      continue;
    }
    const end = endOfText(text, at + 1);
    const name =
      seen.isAtDepth() && isName(text, end + 1) ? String(JSON.parse(text.slice(at, end + 1))) : null;
    if (name !== null && !seen.add(name)) return name;
    at = end;
  }
  return null;
}

/** The names of the object that is open at the depth. */
class SeenNames {
  readonly #depth: number;
  #level = 0;
  #names = new Set<string>();

  constructor(depth: number) {
    this.#depth = depth;
  }

  step(step: number): void {
    this.#level += step;
    if (step > 0 && this.isAtDepth()) this.#names = new Set();
  }

  isAtDepth(): boolean {
    return this.#level === this.#depth;
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
