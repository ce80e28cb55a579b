import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';
import { fleetgc, inProcess } from './fleetgc.ts';
import { BOUND_MS, type RunningVerb, spawnVerb, startVerb } from './service-process.ts';

/** Nobody listens on the port for discarding. */
const NO_BROKER = ['--kafka-brokers', '127.0.0.1:9'];

/** The answer to a probe, once it is as wanted. */
const readiness = (running: RunningVerb, wanted: { readonly status: number; readonly says: string }) =>
  waitUntil(`readiness: ${wanted.status} with "${wanted.says}"`, BOUND_MS, async () => {
    const answer = await running.get('/readyz?verbose');
    return answer.status === wanted.status && answer.text.includes(wanted.says) && answer;
  });

/** Options for an embedded log of this test's own, with all topics. */
async function embeddedLog(): Promise<readonly string[]> {
  const options = ['--log', 'embedded', '--log-path', join(temporaryDirectory(), 'log.db')];
  await inProcess(['topics', 'create', ...options]);
  return options;
}

const nodeOptions = (): readonly string[] => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'machine-id'), '3d1219c7c4c5404aaa1f6d2a48adfda4\n');
  return [
    ...['--state-directory', join(directory, 'state')],
    ...['--machine-id-file', join(directory, 'machine-id')],
    ...['--runtime-endpoint', join(directory, 'no-runtime.sock')],
  ];
};

test.each([
  { verb: 'decide', start: spawnVerb, parts: ['pressure', 'container-gc', 'image-gc'] },
  { verb: 'pressure', start: startVerb, parts: ['pressure'] },
  { verb: 'container-gc', start: startVerb, parts: ['container-gc'] },
  { verb: 'image-gc', start: startVerb, parts: ['image-gc'] },
])('$verb becomes ready on an empty log and stops in order when told to', async ({ verb, start, parts }) => {
  const running = start(verb, ...(await embeddedLog()));
  const { text } = await readiness(running, { status: 200, says: 'ready' });

  expect(text).toBe(
    `${['event log', 'policies', ...parts].map((part) => `[+] ${part}`).join('\n')}\nready\n`,
  );
  expect(await running.terminate()).toBe(0);
  expect(running.output.stdout).toBe('');
});

test('without a broker a service lives, is not ready, says why, and stops in order', async () => {
  const running = startVerb('image-gc', ...NO_BROKER);
  const { text } = await readiness(running, { status: 503, says: 'ECONNREFUSED' });

  expect(text).toMatch(/^\[-\] event log: Kafka at 127\.0\.0\.1:9: .*\n\[-\] policies: /);
  expect((await running.get('/livez')).status).toBe(200);
  expect(await running.terminate()).toBe(0);
});

test('without a broker a task ends with one clear sentence', { timeout: 30_000 }, async () => {
  const { exitCode, stdout, stderr } = await fleetgc(['policy', 'list', ...NO_BROKER]);

  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toMatch(
    /^(Waiting for Kafka at 127\.0\.0\.1:9 …\n)?fleetgc policy list: Kafka at 127\.0\.0\.1:9: .*ECONNREFUSED.*\. Check that the brokers run.*\n$/,
  );
});

test.each([
  { verb: 'node', start: spawnVerb },
  { verb: 'node-agent', start: startVerb },
])('$verb lives without a container runtime and says what is missing', async ({ verb, start }) => {
  const running = start(verb, ...(await embeddedLog()), ...nodeOptions());
  const { text } = await readiness(running, { status: 503, says: 'no runtime socket' });

  expect(text).toMatch(/\[-\] node-agent: There is no runtime socket at .*no-runtime\.sock\./);
  expect(await running.terminate()).toBe(0);
});

test('node-executor waits for commands without a container runtime', async () => {
  const running = startVerb('node-executor', ...(await embeddedLog()), ...nodeOptions());
  await readiness(running, { status: 200, says: '[+] node-executor' });

  expect(await running.terminate()).toBe(0);
});

test('run says what it does, and that nothing goes without a policy', async () => {
  const directory = temporaryDirectory();
  const running = spawnVerb('run', ...nodeOptions(), '--log-path', join(directory, 'log.db'));
  await waitUntil('the introduction', BOUND_MS, () => running.output.stdout.includes('No --policy'));
  const lines = running.output.stdout.split('\n');

  expect(lines.slice(0, 5)).toEqual([
    expect.stringMatching(/^FleetGC \d+\.\d+\.\d+ on node /),
    expect.stringMatching(/^Container runtime: no answer yet\. There is no runtime socket at /),
    `Event log: ${join(directory, 'log.db')}`,
    'Policy default: dry-run. Nothing will be removed.',
    "No --policy was given: these are the kubelet's defaults, to see what they would do.",
  ]);
  expect(await running.terminate()).toBe(0);
  expect(running.output.stderr).toBe('stopping\n');
});

test('a second run on one state directory ends with one clear sentence, and the first goes on', async () => {
  const options = nodeOptions();
  const logPath = ['--log-path', join(temporaryDirectory(), 'log.db')];
  const first = spawnVerb('run', ...options, ...logPath);
  await waitUntil('the introduction', BOUND_MS, () => first.output.stdout.includes('No --policy'));

  const other = ['--log-path', join(temporaryDirectory(), 'other.db')];
  const refused = await inProcess(['run', ...options, ...other]);
  expect(refused).toMatchObject({ exitCode: 1, stdout: '' });
  expect(refused.stderr).toMatch(/^fleetgc run: another process is the agent of the state directory .*\n$/);
  for (const verb of ['node', 'node-agent', 'node-executor']) {
    const { exitCode, stderr } = await inProcess([verb, ...options, '--log', 'embedded', ...other]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: expect.stringContaining('another process is'),
    });
  }
  expect(await first.terminate()).toBe(0);
});

test('run with a bad policy starts nothing', async () => {
  const policy = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(policy, 'name: a\nmode: enforced\n');
  const { exitCode, stdout, stderr } = await inProcess(['run', '--policy', policy, ...nodeOptions()]);

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(/:2:7: mode: must be dry-run .*\nfleetgc run: 1 problem; nothing was started\n$/);
});

test('on Kafka a node must say to which cluster it belongs', async () => {
  expect(await inProcess(['node', ...NO_BROKER, ...nodeOptions()])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining(
      '--cluster is missing: on Kafka nodes of several clusters can have equal names',
    ),
  });
});

test('an address that is taken is told in one sentence', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void taken.close());
  await once(taken, 'listening');
  const address = taken.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const { exitCode, stderr } = await inProcess([
    'decide',
    ...(await embeddedLog()),
    ...['--http-address', `127.0.0.1:${port}`],
  ]);

  expect(exitCode).toBe(2);
  expect(stderr).toContain(
    `cannot listen on 127.0.0.1:${port} (EADDRINUSE); choose another address with --http-address, or none`,
  );
});
