import { readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { PauseRecord, PolicyRecord, type PolicySet } from '../../schemas/policy.ts';
import { TOPICS } from '../../schemas/topics.ts';
import type { FrozenDecider } from '../../services/audit/deciders/deciders.ts';
import type { InputPosition } from '../../services/shared/handler.ts';
import { canonicalJson, sha256Hex } from '../../services/shared/ids.ts';
import { policySet } from '../../services/shared/policy-set.ts';

/** One message with the policies of its time, as recorded: `make-corpus.ts` wrote it, and nothing changes it. */
export const CorpusCase = z.strictObject({
  name: z.string(),
  topic: z.enum(['inventory', 'diskStats']),
  event: z.unknown(),
  policies: z.array(PolicyRecord),
  pauses: z.array(PauseRecord),
});
export type CorpusCase = z.infer<typeof CorpusCase>;

export const CORPUS_DIRECTORY = new URL('./corpus/', import.meta.url);

/** All cases, by name. */
export const readCorpus = (): readonly CorpusCase[] =>
  readdirSync(CORPUS_DIRECTORY)
    .toSorted()
    .map((file) => CorpusCase.parse(JSON.parse(readFileSync(new URL(file, CORPUS_DIRECTORY), 'utf8'))));

/** What a decider gets to decide on. */
export interface Question {
  readonly message: unknown;
  readonly position: InputPosition;
  readonly policies: PolicySet;
}

export function questionOf({ topic, event, policies, pauses }: CorpusCase): Question {
  const text = JSON.stringify(event);
  const position = { topic: TOPICS[topic].name, partition: 3, offset: '42', sha256: sha256Hex(text) };
  return { message: deepFrozen(JSON.parse(text)), position, policies: policySet(policies, pauses) };
}

/** The canonical JSON of all that a decider gives. */
export const answerTo = (
  { message, position, policies }: Question,
  { read, decide }: Pick<FrozenDecider, 'read' | 'decide'>,
): string => canonicalJson(decide(deepFrozen(read(message)), position, policies));

/** Several deciders share what was read: whoever changes it fails. */
function deepFrozen(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) deepFrozen(part);
  return Object.freeze(value);
}
