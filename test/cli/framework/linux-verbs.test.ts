import { expect, test } from 'vitest';
import { LINUX_VERB_NAMES } from '../../../cli/framework/run-verb.ts';
import { ALL_VERBS, loadAllVerbs } from '../../../cli/verbs.ts';
import { textOf } from '../../deploy/files.ts';
import { tableRows } from '../../docs/markdown.ts';
import { type Ended, inProcess } from '../fleetgc.ts';

/** What the command does on a machine of this platform. */
const on = (platform: NodeJS.Platform, ...args: readonly string[]): Promise<Ended> =>
  inProcess(args, {}, platform);

test.each(LINUX_VERB_NAMES)(
  '%s says at once that it needs Linux, before anything is asked of it',
  async (name) => {
    for (const [platform, called] of [
      ['win32', 'Windows'],
      ['darwin', 'macOS'],
      ['freebsd', 'freebsd'],
    ] as const) {
      const { exitCode, stdout, stderr } = await on(platform, ...name.split(' '));
      expect(exitCode).toBe(2);
      expect(stdout).toBe('');
      expect(stderr).toMatch(new RegExp(`^fleetgc: not supported on ${called}: .* has to run Linux\\.`));
    }
  },
);

test('every verb that is told where a runtime or a kubelet is says so', async () => {
  const ofNodes = (await loadAllVerbs()).filter(({ options }) =>
    options.some(({ key }) => /^(runtimeEndpoint|podLogsDir|kubeletUrl)$/.test(key)),
  );
  expect(ofNodes.length).toBeGreaterThanOrEqual(7);
  expect(ofNodes.map(({ name }) => name).filter((name) => !LINUX_VERB_NAMES.includes(name))).toEqual([]);
});

test('on Linux nothing is refused for that', async () => {
  const { stderr } = await on('linux', 'node', '--no-such-option');
  expect(stderr).not.toContain('not supported');
  expect((await on('linux', 'node')).stderr).not.toContain('not supported');
});

test.each(LINUX_VERB_NAMES)('%s is a verb, and its help is shown anywhere', async (name) => {
  expect(ALL_VERBS.map((verb) => verb.name)).toContain(name);
  const { exitCode, stdout } = await on('win32', ...name.split(' '), '--help');
  expect(exitCode).toBe(0);
  expect(stdout).toContain(`fleetgc ${name}`);
});

test('a plan of an inventory is made anywhere, and verbs that ask of a fleet go on to what they need', async () => {
  const planned = await on('win32', 'plan', '--inventory', 'no-such-file.json');
  expect(planned.stderr).toContain('no-such-file.json');
  expect(planned.stderr).not.toContain('not supported');
  const version = await on('win32', 'version');
  expect(version.exitCode).toBe(0);
  const validated = await on('darwin', 'policy', 'validate', 'no-such-file.yaml');
  expect(validated.stderr).toContain('no-such-file.yaml');
});

test('the page of platforms names the same verbs', () => {
  const [row] = tableRows(textOf('docs/operating/platforms.md'), 'on Linux alone');
  const told = [...(row?.[0] ?? '').matchAll(/`([a-z -]+)`/g)].map(([, name]) => name);
  expect(told.toSorted()).toEqual(LINUX_VERB_NAMES.toSorted());
});
