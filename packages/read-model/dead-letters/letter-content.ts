import { isUtf8 } from 'node:buffer';
import type { DeadLetter } from '../../../schemas/events/dead-letter.ts';
import { originalValue } from './letters.ts';

/** What the message of a dead letter held, as people can look at it; a text may have any character in it. */
export type LetterContent =
  | { readonly kind: 'omitted'; readonly bytes: number }
  | { readonly kind: 'none' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'bytes'; readonly bytes: number; readonly base64: string }
  /** JSON with a line for each member, where it is some. */
  | { readonly kind: 'text'; readonly text: string };

export function letterContent(letter: DeadLetter): LetterContent {
  if (letter.omittedBytes > 0) return { kind: 'omitted', bytes: letter.omittedBytes };
  const value = originalValue(letter);
  if (value === null) return { kind: 'none' };
  if (value.length === 0) return { kind: 'empty' };
  if (!isUtf8(value)) return { kind: 'bytes', bytes: value.length, base64: value.toString('base64') };
  return { kind: 'text', text: readableJson(value.toString('utf8')) };
}

function readableJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
