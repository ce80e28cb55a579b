import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { versionLine } from '../../cli/framework/program.ts';
import { ALL_VERBS } from '../../cli/verbs.ts';
import packageJson from '../../package.json' with { type: 'json' };
import hashes from '../../packages/audit/deciders/hashes.json' with { type: 'json' };
import { AnyDeciderName } from '../../schemas/events/deciders.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { fleetgc, inProcess } from './fleetgc.ts';

test.each(['--version', '-V', 'version'])('%s is one line on stdout', async (argument) => {
  expect(await fleetgc([argument])).toEqual({
    exitCode: 0,
    stdout: expect.stringMatching(
      /^fleetgc \d+\.\d+\.\d+ \((commit [0-9a-f]{40}, )?Node\.js \d+\.\d+\.\d+\)\n$/,
    ),
    stderr: '',
  });
});

test('version -o json names the deciders of this release by the hashes of their bundles', async () => {
  const { exitCode, stdout } = await inProcess(['version', '-o', 'json']);

  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    version: packageJson.version,
    commit: null,
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    deciders: Object.entries(hashes).map(([bundle, { sha256 }]) => ({ bundle, sha256 })),
  });
});

test('a program that was built of a commit says so', () => {
  expect(versionLine('24.0.0', 'a1b2c3')).toBe(
    `fleetgc ${packageJson.version} (commit a1b2c3, Node.js 24.0.0)`,
  );
  expect(versionLine('24.0.0', null)).toBe(`fleetgc ${packageJson.version} (Node.js 24.0.0)`);
});

test('--help lists every verb', async () => {
  const { exitCode, stdout, stderr } = await inProcess(['--help']);

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  for (const { name, summary } of ALL_VERBS) expect(stdout).toContain(`  ${name.padEnd(22)}${summary}\n`);
});

test('without a verb help goes to stderr, and the exit code says that nothing was done', async () => {
  const { exitCode, stdout, stderr } = await inProcess([]);

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(/^Usage: fleetgc <verb>/);
  expect(stderr).toMatch(/\nfleetgc: a verb is missing\n$/);
});

test.each([
  ['policy', '--help'],
  ['help', 'policy'],
  ['policy', '-h'],
])('%s %s lists the verbs of the family', async (...args) => {
  const { exitCode, stdout } = await inProcess(args);

  expect(exitCode).toBe(0);
  expect(stdout).toMatch(
    /^Usage: fleetgc policy <verb> \[options\]\n\nCheck, apply and look at policies\.\n/,
  );
  expect(stdout).toContain('policy validate');
  expect(stdout).not.toContain('topics');
});

test('a family without a verb is a mistake', async () => {
  const { exitCode, stdout, stderr } = await inProcess(['topics']);

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(/^Usage: fleetgc topics <verb>.*\nfleetgc: a verb is missing\n$/s);
});

test.each(ALL_VERBS.map(({ name }) => ({ name })))(
  '$name --help says what it does, with an example',
  async ({ name }) => {
    const { exitCode, stdout, stderr } = await inProcess([...name.split(' '), '--help']);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(`Usage: fleetgc ${name} [options]`);
    expect(stdout).toContain(`Examples:\n  fleetgc ${name}`);
    expect(stdout).not.toMatch(/undefined|\[object|One of\s+\./);
  },
);

const VERBS_DIRECTORY = join(import.meta.dirname, '../../cli/verbs');

/** The verbs of single deciders are rows of their registry, and made by one function. */
const DEFINED = ALL_VERBS.filter(({ name }) => !AnyDeciderName.safeParse(name).success);

test('every verb that a file of a family defines has its row in the list of verbs, and one alone', async () => {
  const files = readdirSync(VERBS_DIRECTORY).map((file) => join(VERBS_DIRECTORY, file));
  const families: readonly Record<string, unknown>[] = await Promise.all(files.map((file) => import(file)));
  const defined = families.flatMap((family) =>
    Object.values(family).filter((each) => typeof each === 'object'),
  );
  const listed = await Promise.all(DEFINED.map(({ load }) => load()));

  expect(new Set(listed)).toEqual(new Set(defined));
  expect(listed).toHaveLength(defined.length);
});

test.each<{ args: string; says: string }>([
  { args: 'aply', says: 'there is no verb "aply"; did you mean "policy apply"?' },
  { args: 'polcy apply x', says: 'there is no verb "polcy"; did you mean "policy apply"?' },
  { args: 'policy aply', says: 'there is no verb "policy aply"; did you mean "policy apply"?' },
  { args: 'policy frob', says: 'there is no verb "policy frob"; fleetgc policy --help lists them' },
  { args: 'rezume', says: 'there is no verb "rezume"; did you mean "resume"?' },
  { args: 'frobnicate', says: 'there is no verb "frobnicate"; fleetgc --help lists them' },
  {
    args: 'policy --dry-run apply',
    says: 'policy needs a verb before --dry-run; fleetgc policy --help lists them',
  },
  { args: '--hepl', says: 'there is no option --hepl; did you mean --help?' },
  {
    args: '--log-level debug run',
    says: 'there is no option --log-level before the verb; options of a verb follow it, as in "fleetgc run --log-level debug"',
  },
  { args: 'policy list --outptu json', says: 'there is no option --outptu; did you mean --output?' },
  {
    args: 'node --state-dir /x',
    says: 'there is no option --state-dir; did you mean --state-directory?',
  },
  {
    args: 'node --kubelet-cert=x',
    says: 'there is no option --kubelet-cert; did you mean --kubelet-certificate-file?',
  },
  { args: 'pause --nodes a', says: 'there is no option --nodes; did you mean --node-name?' },
  { args: 'node --kafka-ca', says: 'there is no option --kafka-ca; did you mean --kafka-ca-file?' },
  { args: 'node --pod-x y', says: 'there is no option --pod-x; see fleetgc node --help' },
  { args: 'policy validate', says: 'the argument FILE is missing; see fleetgc policy validate --help' },
  {
    args: 'policy show a b',
    says: 'too many arguments: a, b (the verb takes 1); see fleetgc policy show --help',
  },
  {
    args: 'policy list a',
    says: 'too many arguments: a (the verb takes 0); see fleetgc policy list --help',
  },
  {
    args: 'pause --reason',
    says: 'the option --reason <TEXT> needs a value; see fleetgc pause --help',
  },
])('fleetgc $args is answered with one sentence', async ({ args, says }) => {
  expect(await inProcess(args.split(' '))).toEqual({ exitCode: 2, stdout: '', stderr: `fleetgc: ${says}\n` });
});

test('a wrong option of a real process ends with exit code 2 and one sentence', async () => {
  expect(await fleetgc(['policy', 'validate', '--dryrun', 'x.yaml'])).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: 'fleetgc: there is no option --dryrun; see fleetgc policy validate --help\n',
  });
});

test.each<{ name: string; args: string[]; environment?: Record<string, string>; says: string }>([
  {
    name: 'an option with a value it cannot have',
    args: ['policy', 'list', '--output', 'xml'],
    says: 'fleetgc policy list: --output must be one of table, wide, name, json, yaml, not "xml"\n',
  },
  {
    name: 'the same in the environment',
    args: ['policy', 'validate', 'x.yaml'],
    environment: { FLEETGC_OUTPUT: 'xml' },
    says: 'fleetgc policy validate: FLEETGC_OUTPUT must be one of table, wide, name, json, yaml, not "xml"\n',
  },
  {
    name: 'a runtime that is no socket',
    args: ['node', '--cluster', 'prod', '--runtime-endpoint', 'tcp://10.0.0.1:1'],
    says: 'fleetgc node: --runtime-endpoint must be unix:///path/to/socket or an absolute path, not "tcp://10.0.0.1:1"\n',
  },
  {
    name: 'no broker given',
    args: ['policy', 'list'],
    says: 'fleetgc policy list: --kafka-brokers is missing; give it, or --log embedded for one machine\n',
  },
  {
    name: 'a config file that is not there',
    args: ['policy', 'list', '--config', '/no/such/file.yaml'],
    says: 'fleetgc: the config file /no/such/file.yaml cannot be read: there is no such file\n',
  },
  {
    name: 'an embedded log that is not there, which looking must not create',
    args: ['policy', 'list', '--log', 'embedded', '--log-path', '/no/such/log.db'],
    says: 'fleetgc policy list: there is no event log at /no/such/log.db; is --log-path right? This makes a new one: fleetgc topics create --log embedded --log-path /no/such/log.db\n',
  },
])('$name is told in one line', async ({ args, environment = {}, says }) => {
  const { stdout, stderr, exitCode } = await inProcess(args, environment);

  expect({ stdout, stderr }).toEqual({ stdout: '', stderr: says });
  expect(exitCode).toBeGreaterThan(0);
});

test('a variable that is no setting of any verb is named, with the one that was meant', async () => {
  const { stderr, exitCode } = await inProcess(['policy', 'list'], { FLEETGC_KAFKA_BROKER: 'kafka:9092' });

  expect(exitCode).toBe(2);
  expect(stderr).toBe(
    'warning: the environment variable FLEETGC_KAFKA_BROKER is no setting and is ignored; did you mean FLEETGC_KAFKA_BROKERS?\n' +
      'fleetgc policy list: --kafka-brokers is missing; give it, or --log embedded for one machine\n',
  );
});

test.each(['FLEETGC_FOO', 'FLEETGC_'])('%s is like no setting, so none is suggested', async (name) => {
  const { stderr } = await inProcess(['policy', 'list'], { [name]: '1' });

  expect(stderr).toContain(`warning: the environment variable ${name} is no setting and is ignored\n`);
});

test('a variable that is no setting stops nothing, and those of other verbs and of Kubernetes are no mistake', async () => {
  const policy = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(policy, 'name: a\nmode: dry-run\n');

  expect(
    await inProcess(['policy', 'validate', policy], {
      FLEETGC_FROBNICATION: '1',
      FLEETGC_STATE_DIRECTORY: '/var/lib/fleetgc',
      FLEETGC_EMPTY: '',
      FLEETGC_DECIDE_SERVICE_HOST: '10.0.0.1',
      FLEETGC_DECIDE_SERVICE_PORT: '9640',
      FLEETGC_DECIDE_SERVICE_PORT_HTTP: '9640',
      FLEETGC_DECIDE_PORT: 'tcp://10.0.0.1:9640',
      FLEETGC_DECIDE_PORT_9640_TCP_ADDR: '10.0.0.1',
    }),
  ).toMatchObject({
    exitCode: 0,
    stderr: 'warning: the environment variable FLEETGC_FROBNICATION is no setting and is ignored\n',
  });
});

test('a setting comes from the command line, else the environment, else the config file', async () => {
  const directory = temporaryDirectory();
  const config = join(directory, 'fleetgc.yaml');
  const policy = join(directory, 'policy.yaml');
  writeFileSync(config, 'output: yaml\ncluster: for-another-verb\n');
  writeFileSync(policy, 'name: a\nmode: dry-run\n');
  const validate = ['policy', 'validate', policy, '--config', config];

  const ofFile = await inProcess(validate);
  const ofEnvironment = await inProcess(validate, { FLEETGC_OUTPUT: 'json' });
  const ofFlag = await inProcess([...validate, '-o', 'table'], { FLEETGC_OUTPUT: 'json' });

  expect(ofFile.stdout).toMatch(/^valid: true\n/);
  expect(ofEnvironment.stdout).toMatch(/^\{/);
  expect(ofFlag.stdout).toMatch(/^NAME /);
});
