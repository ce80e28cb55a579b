import { expect, test } from 'vitest';
import { findDecider } from '../../../packages/audit/deciders/deciders.ts';
import { readPoliciesInForce } from '../../../packages/audit/policies/policies-in-force.ts';
import { readPolicyHistory } from '../../../packages/audit/policies/policy-history.ts';
import { createVerifier } from '../../../packages/audit/verify/partition.ts';
import { partitionOf } from '../../../packages/log/partition.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { logOf } from '../../../test/packages/audit/support/archives.ts';
import { createMonth } from './month.ts';
import { partitionRecords, policyRecords } from './partition.ts';

const MONTH = createMonth({ seed: 7, nodes: 24, days: 2 });
const PARTITION = partitionOf(TOPICS.inventory.name, 'prod/node-0000');
const records = [...partitionRecords(MONTH, PARTITION)];

const valuesOn = (topic: string): readonly (string | undefined)[] =>
  records.filter((record) => record.topic === topic).map(({ value }) => value?.toString('utf8'));

test('the same seed gives the same bytes, another seed others', () => {
  const texts = (seed: number) =>
    [...partitionRecords(createMonth({ ...MONTH, seed }), PARTITION)].map((record) => String(record.value));
  expect(texts(7)).toEqual(records.map((record) => String(record.value)));
  expect(texts(8)).not.toEqual(texts(7));
});

test('every decision of it is verified, and every command and result has its cause', async () => {
  const log = logOf([...policyRecords(MONTH), ...records]);
  const { signal } = new AbortController();
  const policies = await readPolicyHistory(log, signal);
  const range = { fromMs: null, toMs: null };
  const reading = { nowMs: MONTH.endMs, deletes: false };
  const inForce = await readPoliciesInForce(log, { ...reading, written: policies }, signal);
  const verify = createVerifier({ log, policies, inForce, findDecider, range, ...reading, headed: null });
  const { counts, deviations, unverified } = await verify(PARTITION, () => undefined, signal);

  expect([deviations.first, unverified.first]).toEqual([[], []]);
  expect(counts).toMatchObject({ verified: counts.decisions, records: records.length, outOfRange: 0 });
});

test('images go, containers die, and reclaims come to their images', () => {
  const commands = valuesOn(TOPICS.commands.name).join('\n');
  expect(commands).toContain('"kind":"image-removal"');
  expect(commands).toContain('"kind":"container"');
  expect(commands).toContain('"kind":"pod-log-directory"');
  expect(valuesOn(TOPICS.inventory.name).join('\n')).toContain('"step":"images"');
});

test('times never go back, and offsets leave none out', () => {
  const ends = new Map<string, LogRecord>();
  for (const record of records) {
    const before = ends.get(record.topic);
    ends.set(record.topic, record);
    expect(record.offset).toBe((before?.offset ?? -1n) + 1n);
    expect(record.timestampMs).toBeGreaterThanOrEqual(before?.timestampMs ?? 0);
    expect(record.partition).toBe(PARTITION);
  }
});
