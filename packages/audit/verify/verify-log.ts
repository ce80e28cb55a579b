import { NODE_PARTITIONS } from '../../../schemas/events/topics.ts';
import { FleetGcError } from '../../process/errors.ts';
import { placeOf } from '../events/log-position.ts';
import { ALL_PARTITIONS, type ReadingProgress } from '../events/reading.ts';
import type { PolicyHistory } from '../policies/policy-history.ts';
import { createCollector, type Found, mergeFound } from './collected-findings.ts';
import type { PartitionProgress, PartitionVerifier } from './verify-partition.ts';

export interface VerifyNeeds {
  readonly policies: PolicyHistory;
  /** As many partitions are verified at a time. */
  readonly verifiers: readonly PartitionVerifier[];
  readonly onProgress: (progress: ReadingProgress) => void;
}

/**
 * Decides every recorded decision again and follows every command and result, partition by partition. Throws
 * `INTERRUPTED` when `signal` aborts: what was not read is not verified. Not by `readNodes`, as other audits read: to decide again is
 * work for every processor, so threads read, each over a connection of its own, and only what they found comes back.
 */
export async function verifyLog(needs: VerifyNeeds, signal: AbortSignal): Promise<Found> {
  const found: Found[] = [policyProblems(needs.policies)];
  const partitions = ALL_PARTITIONS.values();
  const tell = progressOf(needs.onProgress);
  const work = async (verify: PartitionVerifier): Promise<void> => {
    // All share one iterator: each takes the next partition that nobody has.
    for (const partition of partitions) {
      found.push(await verify(partition, (progress) => tell(partition, progress), signal));
      tell(partition, { part: 1, records: found.at(-1)?.counts.records ?? 0 });
    }
  };
  await Promise.all(needs.verifiers.map(work));
  return mergeFound(found);
}

/** Told to stop in the middle. */
export const stopped = (): FleetGcError =>
  new FleetGcError('INTERRUPTED', 'stopped before the end: nothing is said of what was not read');

function policyProblems({ problems }: PolicyHistory): Found {
  const { deviation, found } = createCollector();
  for (const { record, message } of problems)
    deviation({ kind: 'policy-changed', message, node: null, places: [placeOf(record)] });
  return found();
}

function progressOf(onProgress: VerifyNeeds['onProgress']) {
  const parts = new Map<number, PartitionProgress>();
  return (partition: number, progress: PartitionProgress): void => {
    parts.set(partition, progress);
    const all = [...parts.values()];
    const sum = (of: (one: PartitionProgress) => number): number =>
      all.reduce((total, one) => total + of(one), 0);
    onProgress({
      done: sum(({ part }) => part),
      of: NODE_PARTITIONS,
      records: sum(({ records }) => records),
    });
  };
}
