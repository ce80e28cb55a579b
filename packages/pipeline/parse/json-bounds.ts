import type { ValueBounds } from '../../../schemas/events/value-bounds.ts';
import { endOfText } from '../../text/quoted-text.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;

/**
 * Which bound a JSON text exceeds, told before it is parsed: a few bytes of text can take a hundred times as many as values. Linear
 * in the text, and without memory of its own. Of what is no JSON it tells something, and the parser tells the rest.
 */
export function exceededBound(text: string, bounds: Omit<ValueBounds, 'bytes'>): 'depth' | 'elements' | null {
  let depth = 0;
  let elements = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfText(text, at + 1);
    const step = stepOf(code);
    depth += step;
    if (step > 0 || code === COMMA) elements++;
    if (depth > bounds.depth) return 'depth';
    if (elements > bounds.elements) return 'elements';
  }
  return null;
}

/** 1 for a bracket that opens, -1 for one that closes. */
export function stepOf(code: number): number {
  if (code === 0x5b || code === 0x7b) return 1;
  return code === 0x5d || code === 0x7d ? -1 : 0;
}
