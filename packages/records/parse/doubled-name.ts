import { endOfText, isName } from '../../text/quoted-text.ts';
import { stepOf } from './json-bounds.ts';

const QUOTE = 0x22;

/** The names of objects that are open. */
export interface OpenNames {
  /** A bracket opens (1) or closes (-1); 0 for what is none. */
  step(step: number): void;
  /** Whether names are looked at where this stands. */
  isWatched(): boolean;
  /** Whether it is new in the object that it stands in. */
  add(name: string): boolean;
}

/** The first name that stands twice in one object of a text that is JSON, `null` where none does. Linear in the text. */
export function doubledName(text: string, open: OpenNames): string | null {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code !== QUOTE) {
      open.step(stepOf(code));
      continue;
    }
    const end = endOfText(text, at + 1);
    // One name can be written in several ways.
    const name =
      open.isWatched() && isName(text, end + 1) ? String(JSON.parse(text.slice(at, end + 1))) : null;
    if (name !== null && !open.add(name)) return name;
    at = end;
  }
  return null;
}
