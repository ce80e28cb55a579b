import { expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { ToldFailures } from '../../../../services/cluster/agent/session.ts';

type Code = 'API_REFUSED' | 'API_NO_CREDENTIALS' | 'API_UNREACHABLE';

/** What is told of failures, of which `null` is an answer. */
function toldOf(...codes: readonly (Code | Error | null)[]): readonly string[] {
  const told: string[] = [];
  const level = (name: string) => (): void => void told.push(name);
  const failures = new ToldFailures({ error: level('error'), warn: level('warn') });
  for (const code of codes)
    if (code === null) failures.answered();
    else if (code instanceof Error)
      failures.failed(new FleetGcError('API_UNREACHABLE', 'why', { cause: code }), 'what');
    else failures.failed(new FleetGcError(code, 'why'), 'what');
  return told;
}

test('that the API server does not know us is told once as an error, and again after it did', () => {
  const told = toldOf('API_REFUSED', 'API_NO_CREDENTIALS', null, 'API_NO_CREDENTIALS');
  expect(told).toEqual(['error', 'warn', 'error']);
});

test('that it is away is told once as an error when it lasts, and not where it is back at the next look', () => {
  expect(toldOf('API_UNREACHABLE', null, 'API_UNREACHABLE', null)).toEqual(['warn', 'warn']);
  expect(toldOf('API_UNREACHABLE', 'API_UNREACHABLE', 'API_UNREACHABLE')).toEqual(['warn', 'error', 'warn']);
});

test('that nobody vouches for its certificate is told at once, also where it was away before, and once', () => {
  const unverified = Object.assign(new Error('unable to verify'), { code: 'CERT_SIGNATURE_FAILURE' });
  expect(toldOf(unverified, unverified)).toEqual(['error', 'warn']);
  expect(toldOf('API_UNREACHABLE', 'API_UNREACHABLE', unverified, unverified)).toEqual([
    'warn',
    'error',
    'error',
    'warn',
  ]);
});
