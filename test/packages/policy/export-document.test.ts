import { expect, test } from 'vitest';
import type { LogRecord } from '../../../packages/log/port.ts';
import { exportDocument, readPolicyDocument } from '../../../packages/policy/policy-document.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { PolicyTopicRecord } from '../../../schemas/policy/policy.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { pauseRecord } from '../../fixtures/policy.ts';
import { outgoing } from '../../services/deciders/functions/support/function-events.ts';

const { signal } = new AbortController();
const NOW_MS = Date.UTC(2026, 0, 31);
const MINUTE_MS = 60_000;

/** A log on which a pause was taken last, at this time. */
const pausedAt = (timestampMs: number, isDatedByWriter = false) => {
  const record = (offset: bigint, event: PolicyTopicRecord, atMs: number): LogRecord => ({
    ...outgoing('policies', event),
    partition: 0,
    offset,
    timestampMs: atMs,
    ...(isDatedByWriter && { isDatedByWriter: true }),
  });
  const records = [
    record(0n, appliedPolicy(), NOW_MS - 60 * MINUTE_MS),
    record(1n, pauseRecord(), timestampMs),
  ];
  return {
    read: async function* ({ topic }: { readonly topic: string }) {
      for (const each of topic === TOPICS.policies.name ? records : [])
        yield { kind: 'record', record: each } as const;
      yield { kind: 'caught-up' } as const;
    },
  };
};

/** When a document says that it was exported, and the generation that its signature was to have. */
async function exported(log: ReturnType<typeof pausedAt>) {
  const generations: number[] = [];
  const sign =
    (generation: number) =>
    <Head>(head: Head): Head => {
      generations.push(generation);
      return head;
    };
  const { text } = await exportDocument(log, { roots: null, sign, nowMs: NOW_MS }, signal);
  const reading = readPolicyDocument(Buffer.from(text));
  return reading.ok ? [reading.document.exportedAtMs, ...generations] : reading.why;
}

test('a document is no older than what stands in it, though the clock of whoever exports is behind', async () => {
  expect(await exported(pausedAt(NOW_MS - MINUTE_MS))).toEqual([NOW_MS, NOW_MS]);
  const later = NOW_MS + 2 * MINUTE_MS;
  expect(await exported(pausedAt(later))).toEqual([later, later]);
  await expect(exported(pausedAt(NOW_MS + 6 * MINUTE_MS))).rejects.toThrow(
    'the event log took a record at 2026-01-31T00:06:00Z, and by the clock of this machine it is 2026-01-31T00:00:00Z',
  );
});

test('a time that a writer gave to its record makes no document newer', async () => {
  expect(await exported(pausedAt(NOW_MS + 60 * MINUTE_MS, true))).toEqual([NOW_MS, NOW_MS]);
});
