import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { inProcess } from '../fleetgc.ts';
import { nodeOptions } from '../service-options.ts';
import { BOUND_MS, spawnVerb, startVerb } from '../service-process.ts';

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
  // For the moment in which its disk is full.
  expect(existsSync(join(directory, 'log.db-reserve'))).toBe(true);
  expect(await running.terminate()).toBe(0);
  expect(running.output.stderr).toBe('stopping\n');
});

test('a second run on one state directory ends with one clear sentence, and the first goes on', async () => {
  const options = nodeOptions();
  const logPath = ['--log-path', join(temporaryDirectory(), 'log.db')];
  const first = startVerb('run', ...options, ...logPath);
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

test('a second run on one runtime says who removes there already, and with which state directory', async () => {
  const options = nodeOptions();
  const first = spawnVerb('run', ...options, '--log-path', join(temporaryDirectory(), 'log.db'));
  await waitUntil('the introduction', BOUND_MS, () => first.output.stdout.includes('No --policy'));

  const elsewhere = [
    ...['--state-directory', join(temporaryDirectory(), 'state')],
    ...['--log-path', join(temporaryDirectory(), 'other.db')],
  ];
  const second = spawnVerb('run', ...without(options, '--state-directory'), ...elsewhere);
  await waitUntil('the second introduction', BOUND_MS, () => second.output.stdout.includes('No --policy'));
  const state = options[options.indexOf('--state-directory') + 1];
  expect(second.output.stderr).toMatch(
    new RegExp(
      `Another process removes through this container runtime: \\d+ \\(fleetgc run .*\\), with the state directory ${state}\\.`,
    ),
  );
  expect(await second.terminate()).toBe(0);
  const alone = spawnVerb('run', ...nodeOptions(), ...elsewhere.slice(2));
  await waitUntil('the introduction of another', BOUND_MS, () => alone.output.stdout.includes('No --policy'));
  expect(alone.output.stderr).not.toContain('Another process');
  expect(await alone.terminate()).toBe(0);
  expect(await first.terminate()).toBe(0);
});

const without = (options: readonly string[], name: string): readonly string[] =>
  options.toSpliced(options.indexOf(name), 2);

test('run with a bad policy starts nothing', async () => {
  const policy = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(policy, 'name: a\nmode: enforced\n');
  const { exitCode, stdout, stderr } = await inProcess(['run', '--policy', policy, ...nodeOptions()]);

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(/:2:7: mode: must be dry-run .*\nfleetgc run: 1 problem; nothing was started\n$/);
});
