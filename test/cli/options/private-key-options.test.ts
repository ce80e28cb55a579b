import { expect, test } from 'vitest';
import { z } from 'zod';
import { signingKeyOptions } from '../../../cli/options/trust-options.ts';
import { parseOptions } from '../../../packages/process/options/read-options.ts';

const parsed = (value: string) =>
  parseOptions(z.object(signingKeyOptions), {
    flags: { signingKeyCommand: value },
    environment: {},
    file: null,
  });

test.each([
  ['vault', ['vault']],
  ['  vault   kv get  ', ['vault', 'kv', 'get']],
  ['"/opt/my tools/key" --of \'the decider\'', ['/opt/my tools/key', '--of', 'the decider']],
  ['vault --field="private key"', ['vault', '--field=private key']],
  ['sh -c \'echo "$KEY" | base64 -d\'', ['sh', '-c', 'echo "$KEY" | base64 -d']],
  // No shell: none of this has a meaning.
  ['a $HOME `b` \\ * ; c', ['a', '$HOME', '`b`', '\\', '*', ';', 'c']],
  ['a "" b', ['a', '', 'b']],
])('the words of %s', (text, words) => {
  expect(parsed(text)).toEqual({ ok: true, value: { signingKeyCommand: words } });
});

test.each(['"not closed', "it's", '   ', '""'])('%j is no command, and not repeated', (text) => {
  expect(parsed(text)).toEqual({
    ok: false,
    problems: [expect.stringMatching(/^--signing-key-command must be a program and its arguments/)],
  });
});

test('the config file may give the words one by one', () => {
  const file = { path: 'fleetgc.yaml', text: 'signingKeyCommand: [vault, "a b", "it\'s"]' };
  expect(parseOptions(z.object(signingKeyOptions), { flags: {}, environment: {}, file })).toEqual({
    ok: true,
    value: { signingKeyCommand: ['vault', 'a b', "it's"] },
  });
});
