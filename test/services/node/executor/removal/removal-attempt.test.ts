import { describe, expect, test } from 'vitest';
import type { ErrorCode } from '../../../../../packages/process/error-codes.ts';
import { FleetGcError } from '../../../../../packages/process/errors.ts';
import {
  type Attempt,
  after,
  attempt,
  failed,
  isNotFound,
  mayHaveActed,
  NOT_FOUND,
  REMOVED,
  refused,
} from '../../../../../services/node/executor/remove.ts';

const RUNS = refused({ reason: 'running', message: 'it runs' });
const FAILED = failed('runtime-error', new Error('no shim'));

describe('a call that removes', () => {
  const calling = (code: ErrorCode) =>
    attempt(async () => {
      throw new FleetGcError(code, 'as the test wants it');
    });

  test('and returns has removed', async () => {
    expect(await attempt(async () => undefined)).toEqual({ outcome: 'removed' });
  });

  test.each<{ rule: string; code: ErrorCode; attempted: object }>([
    { rule: 'M31', code: 'RUNTIME_NOT_FOUND', attempted: { outcome: 'not-found' } },
    {
      rule: 'C8',
      code: 'RUNTIME_IMAGE_IN_USE',
      attempted: { outcome: 'refused', reason: 'in-use-outside-cri', message: 'as the test wants it' },
    },
    {
      rule: 'M17',
      code: 'RUNTIME_TIMEOUT',
      attempted: { outcome: 'failed', reason: 'deadline-exceeded', message: 'as the test wants it' },
    },
    {
      rule: 'M17',
      code: 'RUNTIME_FAILED',
      attempted: { outcome: 'failed', reason: 'runtime-error', message: 'as the test wants it' },
    },
  ])('[$rule] and ends with $code is told so', async ({ code, attempted }) => {
    expect(await calling(code)).toEqual(attempted);
    expect(isNotFound(new FleetGcError(code, ''))).toBe(code === 'RUNTIME_NOT_FOUND');
  });
});

test('what was not removed is told with the steps to it, in their order', () => {
  expect(after('logs-removed', FAILED)).toEqual({ ...FAILED, alreadyDone: ['logs-removed'] });
  expect(after('stopped', after('logs-removed', RUNS))).toEqual({
    ...RUNS,
    alreadyDone: ['stopped', 'logs-removed'],
  });
});

test('[M31] of what is gone a stop is not told, and logs that went are', () => {
  expect(after('stopped', NOT_FOUND)).toEqual({ outcome: 'not-found' });
  expect(after('logs-removed', NOT_FOUND)).toEqual({ outcome: 'not-found', alreadyDone: ['logs-removed'] });
  expect(after('stopped', REMOVED)).toEqual({ outcome: 'removed' });
});

test.each<{ name: string; attempted: Attempt; isAsked: boolean; has: boolean }>([
  { name: 'what was removed', attempted: REMOVED, isAsked: false, has: true },
  { name: 'what failed', attempted: FAILED, isAsked: false, has: true },
  { name: 'what was gone once the runtime was asked', attempted: NOT_FOUND, isAsked: true, has: true },
  { name: 'what was gone before', attempted: NOT_FOUND, isAsked: false, has: false },
  { name: 'what was refused', attempted: RUNS, isAsked: true, has: false },
  { name: 'what was refused after a stop', attempted: after('stopped', RUNS), isAsked: false, has: true },
])('[K5] $name may be our doing: $has', ({ attempted, isAsked, has }) => {
  expect(mayHaveActed(attempted, isAsked)).toBe(has);
});
