/** What is wrong with such a text. */
export const HALF_A_CHARACTER = 'must have no half characters (lone surrogates, \\ud800 to \\udfff)';

/** A text with half a character (a lone surrogate) in it. */
export interface BrokenText {
  /** Of the text, or of the map of which it is a key. */
  readonly path: readonly (string | number)[];
  /** With a sign in place of the half. */
  readonly text: string;
}

/** Where a value stands in another one; `null` is the whole. */
type Place = { readonly within: Place; readonly key: string | number } | null;

/**
 * The texts in a value, keys among them, that have half a character. Canonical JSON (RFC 8785) cannot hold them, so nothing with
 * one has a hash, and nobody can decide on it. It does not call itself: values may be as deep as somebody likes.
 */
export function brokenTexts(value: unknown): readonly BrokenText[] {
  const broken: BrokenText[] = [];
  const left: { readonly place: Place; readonly value: unknown }[] = [{ place: null, value }];
  const note = (place: Place, text: string): void => {
    if (!text.isWellFormed()) broken.push({ path: pathOf(place), text: text.toWellFormed() });
  };
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { place, value: inner } = next;
    if (typeof inner === 'string') note(place, inner);
    for (const [key, member] of membersOf(inner).toReversed()) {
      if (typeof key === 'string') note(place, key);
      left.push({ place: { within: place, key }, value: member });
    }
  }
  return broken;
}

function membersOf(value: unknown): readonly (readonly [key: string | number, value: unknown])[] {
  if (Array.isArray(value)) return [...value.entries()];
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

function pathOf(place: Place): BrokenText['path'] {
  const path: (string | number)[] = [];
  for (let at = place; at !== null; at = at.within) path.unshift(at.key);
  return path;
}

/** Perhaps: every JSON.stringify writes half a character as an escape, and nothing else so; others may write whole ones so too. */
export const mayHaveBrokenText = (json: { includes(text: string): boolean }): boolean =>
  json.includes('\\ud') || json.includes('\\uD');
