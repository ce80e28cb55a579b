import { expect, test } from 'vitest';
import { RecentDecisions } from '../../../../packages/audit/verify/headed-decisions.ts';
import { NOTHING_HASHED, runningHash } from '../../../../packages/canonical/running-hash.ts';
import { decision } from '../../../fixtures/outputs.ts';
import { recordOf } from '../../../support/logs/log-record.ts';

const record = recordOf({ topic: 'decisions', key: 'prod/web-1', event: decision() });
const taken = { before: NOTHING_HASHED, after: runningHash(NOTHING_HASHED, record) };

test('a decision is known again by its bytes, as long as it came lately', () => {
  const recent = new RecentDecisions();
  recent.add('a 0', taken);
  expect(recent.isSame('a 0', record)).toBe(true);
  expect(recent.isSame('a 0', { ...record, value: Buffer.from('{}') })).toBe(false);
  expect(recent.isSame('a 1', record)).toBeNull();
  for (let number = 1; number < 10_000; number += 1) recent.add(`a ${number}`, taken);
  expect(recent.isSame('a 0', record)).toBe(true);
  recent.add('a 10000', taken);
  expect(recent.isSame('a 0', record)).toBeNull();
  expect(recent.isSame('a 1', record)).toBe(true);
});
