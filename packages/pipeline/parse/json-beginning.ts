const OPENING = /\s*\{/y;
const NAME = /\s*"((?:[^"\\]|\\.)*)"\s*:/sy;
/** A bracket that opens, one that closes, or what stands between brackets. */
const TOKEN = /\s*(?:([{[])|([}\]])|[,:]|"(?:[^"\\]|\\.)*"|[^\s,:"{}[\]]+)/sy;
const COMMA = /\s*,/y;

/**
 * An object of the first members of the object that a JSON text is, as many as it takes to have all these names. `undefined` where
 * they are not all there, or where the text is no JSON up to there. What comes after them is not looked at.
 */
export function jsonBeginning(text: string, names: readonly string[]): unknown {
  const missing = new Set(names);
  let end = endOf(OPENING, text, 0)?.end;
  while (end !== undefined && missing.size > 0) {
    const name = endOf(NAME, text, end);
    const value = name && endOfValue(text, name.end);
    if (name === undefined || value === undefined) return undefined;
    missing.delete(name.found);
    if (missing.size === 0) return parsed(`${text.slice(0, value)}}`);
    end = endOf(COMMA, text, value)?.end;
  }
  return undefined;
}

/** Where a match that begins at `from` ends, and what stands in its first brackets. */
function endOf(pattern: RegExp, text: string, from: number) {
  pattern.lastIndex = from;
  const match = pattern.exec(text);
  return match === null ? undefined : { end: pattern.lastIndex, found: match[1] ?? '' };
}

function endOfValue(text: string, from: number): number | undefined {
  let depth = 0;
  TOKEN.lastIndex = from;
  do {
    const token = TOKEN.exec(text);
    if (token === null) return undefined;
    if (token[1] !== undefined) depth++;
    if (token[2] !== undefined) depth--;
  } while (depth > 0);
  return TOKEN.lastIndex;
}

/** Whether brackets and commas stand where they may is for the parser to say. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
