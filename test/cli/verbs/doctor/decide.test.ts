import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DoctorReport } from '../../../../schemas/reports/doctor.ts';
import { DECIDER_CHECKS } from '../../../../services/doctor/decider.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { inProcess, ownLog } from '../../fleetgc.ts';

test('what a decision service needs is looked at, and that none runs', async () => {
  const { run } = await ownLog();
  const policy = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(policy, 'name: web\nmode: enforce\n');
  expect((await run('policy', 'apply', policy)).exitCode).toBe(0);

  const { exitCode, stdout, stderr } = await run('doctor', 'decide', '-o', 'json');

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const { of, checks } = DoctorReport.parse(JSON.parse(stdout));
  expect(of).toBe('decider');
  expect(checks.map(({ id }) => id)).toEqual(Object.keys(DECIDER_CHECKS));
  const found = new Map(checks.map((check) => [check.id, check]));
  for (const id of ['event-log', 'topics']) expect(found.get(id), id).toMatchObject({ outcome: 'ok' });
  expect(found.get('services')).toMatchObject({
    outcome: 'warning',
    seen: expect.stringMatching(/pressure 0/),
  });
  expect(found.get('policies')).toMatchObject({
    outcome: 'ok',
    seen: expect.stringMatching(/^1 policy for nodes/),
  });
});

test('without a key that counts nothing starts, and doctor says so', async () => {
  const { exitCode, stdout, stderr } = await inProcess([
    'doctor',
    'decide',
    '--kafka-brokers',
    'kafka',
    '--trust',
    'required',
  ]);

  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr: 'fleetgc doctor decide: something is wrong: event-log, keys\n',
  });
  expect(stdout).toMatch(/^problem {2}keys +\S.*--trust-roots/m);
});
