import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Mutant } from './mutants.ts';

const Explanation = z.strictObject({
  file: z.string(),
  mutator: z.string(),
  /** Text of the source that is changed, or of the line that the change begins in. */
  snippet: z.string().min(1),
  /** Where only one of several changes to the same text is meant. */
  replacement: z.string().optional(),
  reason: z.string().min(20),
});
export type Explanation = z.infer<typeof Explanation>;

/** Why a mutant that no test kills is no gap: it does what the source does, or what it changes is nobody's to see. */
export const readExplanations = (): readonly Explanation[] =>
  z.array(Explanation).parse(JSON.parse(readFileSync(join(import.meta.dirname, 'explained.json'), 'utf8')));

export const explains = ({ file, mutator, snippet, replacement }: Explanation, mutant: Mutant): boolean =>
  file === mutant.file &&
  mutator === mutant.mutator &&
  (mutant.original.includes(snippet) || mutant.snippet.includes(snippet)) &&
  (replacement === undefined || replacement === mutant.replacement);
