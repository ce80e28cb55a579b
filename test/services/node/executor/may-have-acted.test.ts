import { expect, test } from 'vitest';
import { NOT_FOUND, refused } from '../../../../services/node/executor/judge.ts';
import { type Attempt, mayHaveActed } from '../../../../services/node/executor/remove.ts';

const RUNS = refused({ reason: 'running', message: 'it runs' });
const FAILED: Attempt = { outcome: 'failed', reason: 'runtime-error', message: 'no shim' };

test.each<{ name: string; attempted: Attempt; isAsked: boolean; has: boolean }>([
  { name: 'what was removed', attempted: { outcome: 'removed' }, isAsked: false, has: true },
  { name: 'what failed', attempted: FAILED, isAsked: false, has: true },
  { name: 'what was gone once the runtime was asked', attempted: NOT_FOUND, isAsked: true, has: true },
  { name: 'what was gone before', attempted: NOT_FOUND, isAsked: false, has: false },
  { name: 'what was refused', attempted: RUNS, isAsked: true, has: false },
  {
    name: 'what was refused after a stop',
    attempted: { ...RUNS, alreadyDone: ['stopped'] },
    isAsked: false,
    has: true,
  },
])('[K5] $name may be our doing: $has', ({ attempted, isAsked, has }) => {
  expect(mayHaveActed(attempted, isAsked)).toBe(has);
});
