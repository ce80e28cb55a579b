import { expect, test } from 'vitest';
import { z } from 'zod';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { inProcess } from '../../fleetgc.ts';

const run = (...args: readonly string[]) => inProcess(['topics', 'acls', ...args]);

const Rules = z.array(
  z.strictObject({
    principal: z.string(),
    permission: z.literal('Allow'),
    operation: z.string(),
    resourceType: z.enum(['topic', 'group']),
    resourceName: z.string(),
    patternType: z.enum(['literal', 'prefixed']),
    host: z.literal('*'),
    state: z.string(),
  }),
);

test('the commands of Kafka’s tool, which no broker is asked for', async () => {
  const start = 'kafka-acls.sh --bootstrap-server k1:9093,k2:9093 --command-config admin.properties --add';
  expect(await run('--node-principal', 'User:nodes', '--kafka-brokers', 'k1:9093,k2:9093')).toEqual({
    exitCode: 0,
    stderr: '',
    stdout: [
      `${start} --allow-principal User:nodes --operation Write --topic gc.node.disk-stats --topic gc.node.inventory --topic gc.node.results --topic gc.latest-facts --topic gc.dead-letters`,
      `${start} --allow-principal User:nodes --operation Read --topic gc.node.observe --topic gc.node.commands --topic gc.policies --topic gc.keys`,
      '',
    ].join('\n'),
  });
});

test('each rule for machines', async () => {
  const { stdout } = await run('--print', '--archiver-principal', 'User:a', '-o', 'json');
  const rules = Rules.parse(JSON.parse(stdout));
  expect(rules.map(({ resourceName, operation }) => `${operation} ${resourceName}`)).toEqual(
    Object.values(TOPICS).flatMap(({ name }) =>
      name === 'gc.heads'
        ? [`Read ${name}`, `Write ${name}`, `DescribeConfigs ${name}`]
        : [`Read ${name}`, `DescribeConfigs ${name}`],
    ),
  );
  expect(new Set(rules.map(({ principal, state }) => `${principal} ${state}`))).toEqual(
    new Set(['User:a wanted']),
  );
});

test.each([
  [
    ['--reader-principal', 'User:CN=a,O=b,User:c'],
    ['User:CN=a,O=b', 'User:c'],
  ],
  [
    ['--reader-principal', 'User:c', '--reader-principal', 'User:CN=a,O=b'],
    ['User:c', 'User:CN=a,O=b'],
  ],
])('names of certificates keep their commas: %j', async (flags, expected) => {
  const { stdout } = await run(...flags, '-o', 'json');
  const principals = Rules.parse(JSON.parse(stdout)).map(({ principal }) => principal);
  expect([...new Set(principals)]).toEqual(expected);
});

test('a name is one word for a shell', async () => {
  const { stdout } = await run('--reader-principal', "User:CN=it's, O=b");
  expect(stdout).toContain(`--allow-principal 'User:CN=it'\\''s, O=b' --operation`);
});

test.each<{ readonly flags: readonly string[]; readonly says: string }>([
  {
    flags: [],
    says: 'name a login of at least one role: --node-principal, --cluster-principal, --decider-principal, --operator-principal, --dashboard-principal, --policy-controller-principal, --archiver-principal, --reader-principal',
  },
  {
    flags: ['--node-principal', 'nodes'],
    says: '--node-principal must be User:NAME, as the brokers call the login; of a certificate its whole name, not "nodes"',
  },
  {
    flags: ['--node-principal', 'User:*'],
    says: '--node-principal must be one login: User:* is everybody, not "User:*"',
  },
  {
    flags: ['--print', '--apply', '--node-principal', 'User:n'],
    says: 'give --print or --apply, not both',
  },
  { flags: ['--dry-run', '--node-principal', 'User:n'], says: '--dry-run is for --apply' },
  {
    flags: ['--log', 'embedded', '--node-principal', 'User:n'],
    says: 'the embedded log has no access rules: the rights of its file say who may read and write it',
  },
])('refuses $flags', async ({ flags, says }) => {
  expect(await run(...flags)).toMatchObject({
    exitCode: 2,
    stdout: '',
    stderr: expect.stringContaining(says),
  });
});

test('rules are added to brokers that are named', async () => {
  expect(await run('--apply', '--node-principal', 'User:n')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('--kafka-brokers is missing'),
  });
});
