import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';

/** A larger file is no list of patterns but a mistake. */
const MAX_CHARACTERS = 65_536;

/** What the node's own operator wrote. Every key only takes away from what an order may remove. */
const LocalFile = z.strictObject({
  /** Images whose name matches stay, as in a policy's `keep.images`. */
  keepPatterns: z.array(z.string().min(1)).default([]),
  maxRemovalsPerHour: z.int().nonnegative().nullable().default(null),
  /** Nothing is removed while it is true. */
  hold: z.boolean().default(false),
});

/** The node's last word at this moment. */
export type LocalRules =
  | ({ readonly kind: 'rules' } & Readonly<z.infer<typeof LocalFile>>)
  /** The file is there and says something, but not what: nothing may be removed. */
  | { readonly kind: 'unreadable'; readonly message: string };

export const NO_LOCAL_RULES: Extract<LocalRules, { kind: 'rules' }> = {
  kind: 'rules',
  keepPatterns: [],
  maxRemovalsPerHour: null,
  hold: false,
};

/** Read before each removal. A file that is missing restricts nothing; one that cannot be understood holds everything. */
export async function readLocalRules(path: string): Promise<LocalRules> {
  try {
    return parseLocalRules(path, await readFile(path, 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return NO_LOCAL_RULES;
    return unreadable(path, String(error));
  }
}

export function parseLocalRules(path: string, text: string): LocalRules {
  if (text.length > MAX_CHARACTERS) return unreadable(path, `it has more than ${MAX_CHARACTERS} characters`);
  const parsed = parseYaml(text);
  if (!parsed.ok) return unreadable(path, parsed.problem);
  // Also what a file looks like that somebody is just writing.
  if (parsed.value === null) return unreadable(path, 'it is empty; remove it, or write "hold: false"');
  const rules = LocalFile.safeParse(parsed.value);
  return rules.success ? { kind: 'rules', ...rules.data } : unreadable(path, z.prettifyError(rules.error));
}

type Parsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

function parseYaml(text: string): Parsed {
  try {
    return { ok: true, value: parse(text, { strict: true, uniqueKeys: true, logLevel: 'error' }) };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}

const unreadable = (path: string, problem: string): LocalRules => ({
  kind: 'unreadable',
  message: `the node's own file ${path} holds everything because it cannot be understood: ${problem}`,
});
