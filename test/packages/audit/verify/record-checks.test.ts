import { expect, test } from 'vitest';
import { RecordChecks } from '../../../../packages/audit/verify/partition.ts';
import type { Rejection } from '../../../../packages/records/parse/parse-record.ts';
import { at, findings } from './support.ts';

test('records that are missing between two are a gap, topic by topic', () => {
  const { collector, gaps } = findings();
  const offsets = new RecordChecks(collector);
  for (const offset of [3, 4, 6, 6, 9]) offsets.follow(at('results', offset));
  for (const offset of [0, 1]) offsets.follow(at('commands', offset));
  expect(gaps()).toEqual(['records-missing 4,6', 'records-missing 6,9']);
});

const rejection = (cause: Rejection['cause']): Rejection => ({ cause, message: 'why', value: undefined });

test('a record that nobody takes deviates, and what a newer release wrote is a gap', () => {
  const { collector, deviations, gaps } = findings();
  const checks = new RecordChecks(collector);
  checks.tellRejected('results', at('results', 3), rejection('wrong-schema'));
  checks.tellRejected('results', at('results', 4), rejection('unknown-version'));
  expect([deviations(), gaps()]).toEqual([['unreadable 3'], ['unknown-version 4']]);
  expect(collector.found().deviations.first[0]).toMatchObject({
    node: 'prod/web-1',
    message: 'no consumer of gc.node.results takes it: why',
  });
});

test('a member that stands twice deviates, and a record without a value has none', () => {
  const { collector, deviations } = findings();
  const checks = new RecordChecks(collector);
  const told = (offset: number, text: string | null) =>
    checks.tellDoubledMember(
      at('results', offset, 0, { value: text === null ? null : Buffer.from(text) }),
      text === null ? null : JSON.parse(text),
    );
  told(1, '{"a":1,"b":2}');
  told(2, '{"a":1,"a":1}');
  told(3, null);
  expect(deviations()).toEqual(['doubled-member 2']);
});

test('what lies there again counts as repeated, and with another content it deviates', () => {
  const { collector, counts, deviations } = findings();
  const checks = new RecordChecks(collector);
  const isNew = (offset: number, content: string) =>
    checks.isNew({ id: 'a' }, at('results', offset), content);
  expect([isNew(1, 'x'), isNew(2, 'x'), isNew(3, 'y')]).toEqual([true, false, false]);
  expect([...deviations(), counts.duplicates]).toEqual(['id-reused 3,1', 1]);
  const isRepeated = (offset: number, text: string) =>
    checks.isRepeated({ id: 'b' }, at('decisions', offset, 0, { value: Buffer.from(text) }));
  expect([isRepeated(4, 'x'), isRepeated(5, 'x')]).toEqual([false, true]);
  expect(counts.duplicates).toBe(2);
});
