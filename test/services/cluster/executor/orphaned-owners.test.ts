import { expect, test } from 'vitest';
import { OrphanedOwners } from '../../../../services/cluster/executor/judge.ts';

const FINISH = { action: 'finish', finalizer: 'orphan' } as const;
const HOUR_MS = 3_600_000;

function owners() {
  const time = { nowMs: 0 };
  const errors: unknown[] = [];
  const logger = { error: (...told: unknown[]) => void errors.push(told) };
  return { time, errors, orphaned: new OrphanedOwners(['before'], { nowMs: () => time.nowMs, logger }) };
}

test('[cluster S6] what was ordered counts for an hour, and what was carried out longer', () => {
  const { time, orphaned } = owners();
  for (const uid of ['ordered', 'went']) orphaned.ordered(uid, FINISH);
  orphaned.wasLetGo('went', FINISH);
  orphaned.ordered('waiting', { action: 'finish', finalizer: 'foregroundDeletion' });
  const known = () => ['before', 'ordered', 'went', 'waiting'].filter((uid) => orphaned.has(uid));
  time.nowMs = HOUR_MS - 1;
  expect(known()).toEqual(['before', 'ordered', 'went']);
  time.nowMs = HOUR_MS;
  expect(known()).toEqual(['went']);
});

test('[cluster S6] no number of orders has one forgotten: where too many came, it may be any owner for an hour', () => {
  const { time, errors, orphaned } = owners();
  orphaned.ordered('early', FINISH);
  for (let number = 0; number < 99_998; number++) orphaned.ordered(`of-nobody-${number}`, FINISH);
  expect([orphaned.has('early'), orphaned.has('another'), errors.length]).toEqual([true, false, 0]);
  for (const uid of ['one-more', 'and-one']) orphaned.ordered(uid, FINISH);
  expect([orphaned.has('early'), orphaned.has('one-more'), orphaned.has('another')]).toEqual([
    true,
    true,
    true,
  ]);
  expect(errors.length).toBe(1);
  time.nowMs = HOUR_MS;
  expect([orphaned.has('early'), orphaned.has('another')]).toEqual([false, false]);
  orphaned.ordered('later', FINISH);
  expect([orphaned.has('later'), orphaned.has('another')]).toEqual([true, false]);
});
