/**
 * The texts in a value, keys among them, that have half a character (a lone surrogate), each with a sign in its place. The
 * canonical JSON of a decision (RFC 8785) cannot hold them, so nobody could decide on an inventory with one.
 */
export function brokenTexts(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.isWellFormed() ? [] : [value.toWellFormed()];
  if (Array.isArray(value)) return value.flatMap(brokenTexts);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [...brokenTexts(key), ...brokenTexts(inner)]);
}
