import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TOPICS } from '../../schemas/events/topics.ts';
import { type SecureBroker, startSecureBroker } from '../support/kafka/kafka.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type Ended, fleetgc } from './fleetgc.ts';

let broker: SecureBroker;
beforeAll(async () => {
  broker = await startSecureBroker();
});
afterAll(() => broker[Symbol.asyncDispose]());

/** All that an operator sets for a broker with TLS and a password. */
const access = (): Readonly<Record<string, string>> => ({
  FLEETGC_KAFKA_BROKERS: broker.address,
  FLEETGC_TRUST: 'off',
  FLEETGC_KAFKA_TLS: 'true',
  FLEETGC_KAFKA_CA_FILE: broker.tls.authority,
  FLEETGC_KAFKA_SASL_MECHANISM: 'scram-sha-512',
  FLEETGC_KAFKA_USERNAME: broker.users.scram.username,
  FLEETGC_KAFKA_PASSWORD_FILE: broker.passwordFiles.scram,
  FLEETGC_KAFKA_REPLICATION_FACTOR: '1',
});

const file = (text: string): string => {
  const path = join(temporaryDirectory(), 'file');
  writeFileSync(path, text);
  return path;
};

test('topics and policies are set up over TLS with SCRAM-SHA-512, secrets from files', async () => {
  const environment = access();
  const names = Object.values(TOPICS).map(({ name }) => name);

  const created = await fleetgc(['topics', 'create'], { environment });
  expect(created).toMatchObject({ exitCode: 0, stderr: '' });
  for (const name of names) expect(created.stdout).toMatch(new RegExp(`^${name} +created$`, 'm'));

  const policy = file('name: everywhere\nmode: dry-run\n');
  const applied = await fleetgc(['policy', 'apply', policy], { environment });
  expect(applied).toMatchObject({
    exitCode: 0,
    stdout: 'everywhere: created as version 1, dry-run on all nodes\n',
  });

  const checked = await fleetgc(['topics', 'check'], { environment });
  expect(checked).toMatchObject({ exitCode: 0, stderr: '' });
  expect(checked.stdout).not.toMatch(/missing|differs/);
});

describe.concurrent.each([
  ['topics', 'create'],
  ['topics', 'check'],
  ['policy', 'list'],
])('%s %s', (...verb) => {
  test.each<{ name: string; wrong: () => Readonly<Record<string, string>>; says: RegExp }>([
    {
      name: 'a wrong password',
      wrong: () => ({ FLEETGC_KAFKA_PASSWORD_FILE: broker.passwordFiles.plain }),
      says: /password|authentication/i,
    },
    {
      name: 'an unknown user',
      wrong: () => ({ FLEETGC_KAFKA_USERNAME: 'nobody' }),
      says: /password|authentication/i,
    },
    {
      name: 'the certificate of another authority',
      wrong: () => ({ FLEETGC_KAFKA_CA_FILE: broker.tls.otherAuthority }),
      says: /certificate|self.signed|signature/i,
    },
    {
      name: 'no broker',
      wrong: () => ({ FLEETGC_KAFKA_BROKERS: '127.0.0.1:9' }),
      says: /ECONNREFUSED 127\.0\.0\.1:9.*Check that the brokers run/,
    },
  ])('$name ends it with one clear line', async ({ wrong, says }) => {
    const ended = await fleetgc(verb, { environment: { ...access(), ...wrong() } });

    expect(ended).toMatchObject({ exitCode: 1, stdout: '' });
    expect(finalLines(ended)).toHaveLength(1);
    expect(ended.stderr).toMatch(new RegExp(`^fleetgc ${verb.join(' ')}: Kafka at `, 'm'));
    expect(ended.stderr).toMatch(says);
    expect(ended.stderr).not.toContain(broker.users.scram.password);
  });
});

/** Without the note that it is still waiting, which a slow machine may see. */
const finalLines = ({ stderr }: Ended): readonly string[] =>
  stderr.split('\n').filter((line) => line !== '' && !/^Waiting for Kafka at /.test(line));

test('a password given as an argument is no option', async () => {
  const ended = await fleetgc(['topics', 'check', '--kafka-password', 'secret'], { environment: access() });

  expect(ended.exitCode).toBe(2);
  expect(ended.stderr).toBe(
    'fleetgc: there is no option --kafka-password; did you mean --kafka-password-file?\n',
  );
});
