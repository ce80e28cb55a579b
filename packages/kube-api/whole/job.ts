import { z } from 'zod';
import type { JobFacts } from '../../../schemas/events/expiry.ts';
import { ApiTime } from './times.ts';

const Job = z.object({
  spec: z.object({ ttlSecondsAfterFinished: z.int().nonnegative().nullish() }),
  status: z
    .object({
      conditions: z
        .array(z.object({ type: z.string(), status: z.string(), lastTransitionTime: ApiTime }))
        .nullish(),
    })
    .nullish(),
});

const Finished = z.object({
  type: z.enum(['Complete', 'Failed']),
  status: z.literal('True'),
  lastTransitionTime: z.int().nullable(),
});

/** `null` for what is no Job. The first condition that says that it is finished counts (cluster K2). */
export function readJob(value: unknown): JobFacts | null {
  const parsed = Job.safeParse(value);
  if (!parsed.success) return null;
  const { spec, status } = parsed.data;
  const [finished] = (status?.conditions ?? []).flatMap(
    (condition) => Finished.safeParse(condition).data ?? [],
  );
  return {
    of: 'Job',
    ttlSecondsAfterFinished: spec.ttlSecondsAfterFinished ?? null,
    finished: finished === undefined ? null : { atMs: finished.lastTransitionTime, type: finished.type },
  };
}
