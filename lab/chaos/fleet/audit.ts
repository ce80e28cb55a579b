import { z } from 'zod';
import type { AuditEvidence } from '../judge/evidence.ts';
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
const Answer = z.object({ deviations: z.object({ total: z.int(), first: z.array(Finding) }) });

/** What `audit verify` finds on the whole log; rejects where it comes to no answer. */
export async function auditFindings(run: RunVerb): Promise<AuditEvidence> {
  const { exitCode, stdout, stderr } = await run(['audit', 'verify', '-o', 'json', '--threads', '1']);
  if (stdout === '' || (exitCode !== 0 && exitCode !== 1 && exitCode !== 3))
    throw new Error(`audit verify ended with ${exitCode}: ${stderr}`);
  const { total, first } = Answer.parse(JSON.parse(stdout)).deviations;
  return { findings: first, isCut: first.length < total };
}
