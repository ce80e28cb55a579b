import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Verb } from '../../cli/framework/verb.ts';
import { ALL_VERBS, loadAllVerbs } from '../../cli/verbs.ts';

export const REPOSITORY = join(import.meta.dirname, '..', '..');

export const textOf = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8');

export const verbs: readonly Verb[] = await loadAllVerbs();

export function verbNamed(name: string): Verb {
  const verb = verbs.find((each) => each.name === name);
  if (!verb)
    throw new Error(`there is no verb ${name} among ${ALL_VERBS.map((each) => each.name).join(', ')}`);
  return verb;
}
