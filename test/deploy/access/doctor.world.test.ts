import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROLES } from '../../../packages/log/access/access-rules.ts';
import { DoctorReport } from '../../../schemas/reports/doctor.ts';
import { fleetgc } from '../../cli/fleetgc.ts';
import { type GuardedFleet, PRINCIPALS, startGuardedFleet, type Who } from './logins.ts';

let fleet: GuardedFleet;
beforeAll(async () => {
  fleet = await startGuardedFleet();
});
afterAll(() => fleet?.[Symbol.asyncDispose]());

const as = (who: Who, ...args: readonly string[]) => fleetgc(args, { environment: fleet.environments[who] });

async function looked(who: Who) {
  const { stdout, stderr } = await as(who, 'doctor', 'node', '-o', 'json', '--cluster', 'test');
  expect(stdout, stderr).not.toBe('');
  const { checks } = DoctorReport.parse(JSON.parse(stdout));
  return (id: string) => checks.find((check) => check.id === id);
}

test('doctor says what the brokers let a login do, and writes nothing to find out', async () => {
  const flags = ROLES.flatMap((role) => [`--${role}-principal`, PRINCIPALS[role]]);
  expect((await as('administrator', 'topics', 'acls', '--apply', ...flags)).exitCode).toBe(0);
  expect((await as('operator', 'topics', 'create')).exitCode).toBe(0);

  const node = await looked('node');
  expect(node('event-log')).toMatchObject({
    outcome: 'ok',
    seen: expect.stringMatching(/, names with the prefix acme\.$/),
  });
  expect(node('rights')).toMatchObject({ outcome: 'ok', seen: expect.stringContaining('role node') });
  // A node may not read the settings of topics, and needs not.
  expect(node('topics')).toMatchObject({ outcome: 'skipped' });
  expect(node('policy')).toMatchObject({ outcome: 'warning', seen: 'there is no policy' });

  const reader = await looked('reader');
  expect(reader('topics')).toMatchObject({ outcome: 'ok' });
  expect(reader('rights')).toMatchObject({
    outcome: 'problem',
    seen: expect.stringMatching(/may not Write acme\.gc\.node\.disk-stats, Write acme\.gc\.node\.inventory/),
  });

  const stranger = await looked('stranger');
  expect(stranger('rights')).toMatchObject({
    outcome: 'problem',
    seen: expect.stringMatching(/Read acme\.gc\.policies/),
  });
  expect(stranger('policy')).toMatchObject({ outcome: 'problem' });
});
