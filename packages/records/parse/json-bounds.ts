import type { ValueBounds } from '../../../schemas/events/value-bounds.ts';
import { endOfText, isName } from '../../text/quoted-text.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;

/** Of one object: those with many thousand names take the parser most of its time. No event of ours has a hundredth of it. */
export const MAX_MEMBERS = 10_000;

/**
 * So many names of members are usual. A member of another name takes the parser ten times as long once there are some thousand names,
 * in whatever objects they are: so there are only so many of those in one text.
 */
export const USUAL_NAMES = 1_000;
export const MAX_UNUSUAL_MEMBERS = 100_000;
/** A member takes five characters at least, so a shorter text does not have too many. */
const LEAST_MEMBER_LENGTH = 5;

/**
 * Which bound a JSON text exceeds, told before it is parsed: a few bytes of text can take a hundred times as many as values. Linear
 * in the text, and with hardly any memory of its own. Of what is no JSON it tells something, and the parser tells the rest.
 */
export function exceededBound(
  text: string,
  bounds: Omit<ValueBounds, 'bytes'>,
): 'depth' | 'elements' | 'members' | 'names' | null {
  let depth = 0;
  let elements = 0;
  const hasUnusual = text.length >= LEAST_MEMBER_LENGTH * MAX_UNUSUAL_MEMBERS ? unusualMembers() : null;
  /** Where the last text in quotes begins and ends. */
  let [from, end] = [0, 0];
  /** Colons so far in each list or object that is open. */
  const members = new Uint32Array(bounds.depth + 2);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      from = at + 1;
      at = endOfText(text, from);
      end = at;
    }
    const step = stepOf(code);
    depth += step;
    if (step > 0 || code === COMMA) elements++;
    if (step > 0 && depth >= 0 && depth <= bounds.depth) members[depth] = 0;
    if (code === COLON && depth >= 0) {
      const count = (members[depth] ?? 0) + 1;
      if (count > MAX_MEMBERS) return 'members';
      members[depth] = count;
      if (hasUnusual?.(text.slice(from, end)) === true) return 'names';
    }
    if (depth > bounds.depth) return 'depth';
    if (elements > bounds.elements) return 'elements';
  }
  return null;
}

/** Told the name of each member in turn, whether too many have had another name than the usual ones. */
function unusualMembers(): (name: string) => boolean {
  const usual = new Set<string>();
  let unusual = 0;
  return (name) => {
    if (usual.has(name)) return false;
    if (usual.size < USUAL_NAMES) usual.add(name);
    else unusual += 1;
    return unusual > MAX_UNUSUAL_MEMBERS;
  };
}

/** 1 for a bracket that opens, -1 for one that closes. */
function stepOf(code: number): number {
  if (code === 0x5b || code === 0x7b) return 1;
  return code === 0x5d || code === 0x7d ? -1 : 0;
}

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
