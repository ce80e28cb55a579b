/** What is wrong with it, for people. */
export const doubledText = (name: string): string =>
  `one object in it has the member ${JSON.stringify(name)} twice: FleetGC takes the last, and others may take the first`;

/** The first name that stands twice in one object of a JSON text; `parsed` is what JSON.parse made of it. */
export function doubledMember(json: Buffer, parsed: unknown): string | null {
  const text = json.toString('utf8');
  return isStringified(text, parsed) ? null : findDoubled(text);
}

/** Whether it is what JSON.stringify makes of its value, as are all records of FleetGC: each name stands once in it. */
function isStringified(text: string, parsed: unknown): boolean {
  try {
    return JSON.stringify(parsed) === text;
  } catch {
    // Too deep for it.
    return false;
  }
}

const TOKEN = /("(?:[^"\\]|\\.)*")\s*(:?)|([{[])|[}\]]/gs;

/** Of a text that is JSON. */
function findDoubled(text: string): string | null {
  const open: Set<string>[] = [];
  for (const [, quoted, colon, bracket] of text.matchAll(TOKEN)) {
    if (bracket !== undefined) open.push(new Set());
    else if (quoted === undefined) open.pop();
    else if (colon === ':') {
      // One name can be written in several ways.
      const name = String(JSON.parse(quoted));
      if (open.at(-1)?.has(name)) return name;
      open.at(-1)?.add(name);
    }
  }
  return null;
}
