import { expect, test } from 'vitest';
import { inProcess } from '../../../cli/fleetgc.ts';
import { NO_BROKER } from '../../../cli/service-options.ts';

test('a policy file that cannot be read is told before any broker is looked for', async () => {
  const { exitCode, stdout, stderr } = await inProcess([
    'simulate-fleet',
    ...NO_BROKER,
    '--policy',
    '/nowhere/policy.yaml',
  ]);

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(/^\/nowhere\/policy\.yaml:1:1: cannot be read: /);
  expect(stderr).not.toContain('Kafka');
});
