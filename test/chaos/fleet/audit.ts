import { z } from 'zod';
import type { AuditFinding } from '../judge/evidence.ts';
import type { RunVerb } from './verb.ts';

const Place = z
  .object({ topic: z.string(), partition: z.int(), offset: z.string() })
  .transform(({ topic, partition, offset }) => `${topic}/${partition}@${offset}`);
const Finding = z.object({
  kind: z.string(),
  node: z.string().nullable(),
  message: z.string(),
  places: z.array(Place),
});
const Answer = z.object({ deviations: z.object({ first: z.array(Finding) }) });

/** What `audit verify` finds on the whole log; rejects where it comes to no answer. */
export async function auditFindings(run: RunVerb): Promise<readonly AuditFinding[]> {
  const { exitCode, stdout, stderr } = await run(['audit', 'verify', '-o', 'json', '--threads', '1']);
  if (exitCode !== 0 && exitCode !== 1 && exitCode !== 3)
    throw new Error(`audit verify ended with ${exitCode}: ${stderr}`);
  return Answer.parse(JSON.parse(stdout)).deviations.first;
}
