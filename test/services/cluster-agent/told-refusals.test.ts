import { expect, test } from 'vitest';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { ToldRefusals } from '../../../services/cluster-agent/told-refusals.ts';

test('that the API server does not know us is told once as an error, and again after it did', () => {
  const told: string[] = [];
  const level = (name: string) => (): void => void told.push(name);
  const refusals = new ToldRefusals({ error: level('error'), warn: level('warn') });
  const fail = (code: 'API_REFUSED' | 'API_NO_CREDENTIALS' | 'API_UNREACHABLE'): void =>
    refusals.failed(new FleetGcError(code, 'why'), 'what');
  fail('API_UNREACHABLE');
  fail('API_REFUSED');
  fail('API_NO_CREDENTIALS');
  refusals.answered();
  fail('API_NO_CREDENTIALS');
  expect(told).toEqual(['warn', 'error', 'warn', 'error']);
});
