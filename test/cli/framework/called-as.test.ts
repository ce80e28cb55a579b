import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { type Ended, inProcess } from '../fleetgc.ts';

/** Nobody answers at these ports, and the message says which server was asked. */
const kubeconfig = (...ports: readonly number[]): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': `at-${ports[0]}`,
    clusters: ports.map((port) => ({ name: `at-${port}`, cluster: { server: `https://127.0.0.1:${port}` } })),
    users: [{ name: 'me', user: { token: 'a-token' } }],
    contexts: ports.map((port) => ({ name: `at-${port}`, context: { cluster: `at-${port}`, user: 'me' } })),
  });

function home(): { readonly HOME: string; readonly file: string } {
  const HOME = temporaryDirectory();
  mkdirSync(join(HOME, '.kube'));
  writeFileSync(join(HOME, '.kube/config'), kubeconfig(1));
  const file = join(HOME, 'named.json');
  writeFileSync(file, kubeconfig(2, 3));
  return { HOME, file };
}

const asPlugin = (
  environment: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<Ended> =>
  inProcess(['cluster', 'leftovers', ...args], { KUBECTL_PLUGIN_FLEETGC: '1', ...environment });

test.each<{ name: string; says: string; given: (file: string) => readonly string[]; named?: boolean }>([
  { name: 'the kubeconfig of the user', given: () => [], says: '127.0.0.1:1 ' },
  { name: 'that of KUBECONFIG', named: true, given: () => [], says: '127.0.0.1:2 ' },
  { name: 'a context in it', named: true, given: () => ['--context', 'at-3'], says: '127.0.0.1:3 ' },
  {
    name: 'a context that it has not',
    named: true,
    given: () => ['--context', 'at-4'],
    says: 'no context "at-4"; those it has: at-2, at-3',
  },
  { name: 'what the command line says', given: (file) => ['--kubeconfig', file], says: '127.0.0.1:2 ' },
])('a plugin of kubectl goes by $name', async ({ given, says, named = false }) => {
  const { HOME, file } = home();
  const ended = await asPlugin({ HOME, ...(named && { KUBECONFIG: file }) }, ...given(file));
  expect(ended.stderr).toContain('kubectl fleetgc cluster leftovers: ');
  expect(ended.stderr).toContain(says);
});

test('of several files it takes none, since that would be another cluster than that of kubectl', async () => {
  const { HOME, file } = home();
  const { exitCode, stderr } = await asPlugin({ HOME, KUBECONFIG: `${file}:${HOME}/.kube/config` });
  expect({ exitCode, stderr }).toEqual({
    exitCode: 2,
    stderr:
      'kubectl fleetgc cluster leftovers: --kubeconfig is missing: KUBECONFIG names several files, so say which of them is meant\n',
  });
});

test.each([':FILE', 'FILE:', 'FILE::FILE'])('one file in a list is one file: %s', async (list) => {
  const { HOME, file } = home();
  const { stderr } = await asPlugin({ HOME, KUBECONFIG: list.replaceAll('FILE', file) });
  expect(stderr).toContain('127.0.0.1:2 ');
});

test('the program itself goes by no kubeconfig that it was not given', async () => {
  const { HOME, file } = home();
  const { stderr } = await inProcess(['cluster', 'leftovers'], {
    HOME,
    KUBECONFIG: `${file}:${HOME}/.kube/config`,
  });
  expect(stderr).toBe('fleetgc cluster leftovers: --kubeconfig is missing\n');
});
