import { expect, test } from 'vitest';
import type { ReadingProgress } from '../../../../packages/audit/events/reading.ts';
import type { PolicyProblem } from '../../../../packages/audit/policies/policy-history.ts';
import { createCollector } from '../../../../packages/audit/verify/findings.ts';
import { stopped, verifyLog } from '../../../../packages/audit/verify/log.ts';
import type { PartitionVerifier } from '../../../../packages/audit/verify/partition.ts';
import { NODE_PARTITIONS } from '../../../../schemas/events/topics.ts';
import { at } from './support.ts';

const running = new AbortController().signal;
const policiesWith = (problems: readonly PolicyProblem[]) => ({
  policySetOf: () => null,
  whyUnknown: () => '',
  mayBeWritten: () => false,
  problems,
});

/** Finds so many records in each partition, and tells midway. */
function verifierOf(records: number) {
  const partitions: number[] = [];
  const verify: PartitionVerifier = async (partition, onProgress) => {
    partitions.push(partition);
    onProgress({ records: records / 2, part: 0.5 });
    await Promise.resolve();
    const { counts, found } = createCollector();
    counts.records = records;
    return found();
  };
  return { verify, partitions };
}

test('each partition is verified once, by whoever is free', async () => {
  const [one, other] = [verifierOf(10), verifierOf(10)];
  const found = await verifyLog(
    { policies: policiesWith([]), verifiers: [one.verify, other.verify], onProgress: () => undefined },
    running,
  );
  const all = [...one.partitions, ...other.partitions].toSorted((a, b) => a - b);
  expect(all).toEqual(Array.from({ length: NODE_PARTITIONS }, (_, partition) => partition));
  expect(one.partitions.length).toBeGreaterThan(1);
  expect(other.partitions.length).toBeGreaterThan(1);
  expect(found.counts.records).toBe(10 * NODE_PARTITIONS);
});

test('progress sums what is done and what is in hand', async () => {
  const told: ReadingProgress[] = [];
  await verifyLog(
    { policies: policiesWith([]), verifiers: [verifierOf(10).verify], onProgress: (one) => told.push(one) },
    running,
  );
  expect(told.slice(0, 3)).toEqual([
    { done: 0.5, of: NODE_PARTITIONS, records: 5 },
    { done: 1, of: NODE_PARTITIONS, records: 10 },
    { done: 1.5, of: NODE_PARTITIONS, records: 15 },
  ]);
  expect(told.at(-1)).toEqual({ done: NODE_PARTITIONS, of: NODE_PARTITIONS, records: 10 * NODE_PARTITIONS });
});

test('policies that are not what their hashes say are told once, beside what the partitions show', async () => {
  const record = at('policyVersions', 7);
  const policies = policiesWith([{ record, message: 'it is another one' }]);
  const { deviations } = await verifyLog(
    { policies, verifiers: [verifierOf(1).verify], onProgress: () => undefined },
    running,
  );
  expect(deviations).toMatchObject({
    total: 1,
    first: [
      {
        kind: 'policy-changed',
        message: 'it is another one',
        node: null,
        places: [{ topic: record.topic, partition: 0, offset: '7', timestampMs: record.timestampMs }],
      },
    ],
  });
});

test('the first partition that cannot be verified ends it', async () => {
  const verify: PartitionVerifier = async (partition) => {
    if (partition === 3) throw new Error('the log is away');
    return createCollector().found();
  };
  await expect(
    verifyLog({ policies: policiesWith([]), verifiers: [verify], onProgress: () => undefined }, running),
  ).rejects.toThrow('the log is away');
});

test('who ends it in the middle is told that nothing is said of the rest', () => {
  expect(stopped()).toMatchObject({
    code: 'INTERRUPTED',
    message: 'stopped before the end: nothing is said of what was not read',
  });
});
