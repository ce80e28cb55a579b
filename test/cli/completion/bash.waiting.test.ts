import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { loadAllVerbs } from '../../../cli/verbs.ts';
import { inProcess } from '../fleetgc.ts';
import { startShell, TYPED, type TypedShell } from './typing.ts';

const BASH: TypedShell = {
  name: 'bash',
  command: 'bash --norc --noprofile -i',
  setUp: [`fleetgc() { printf 'got\\x3c%s>\\n' "$*"; }`, 'source SCRIPT'],
};

test('what is typed into bash is completed at TAB', async () => {
  const type = await startShell(BASH);

  for (const { typed, got } of TYPED) expect(await type(typed)).toBe(got);
});

let script = '';
beforeAll(async () => {
  script = (await inProcess(['completion', 'bash'])).stdout;
});

/** What bash offers for the last of these words, in a process of its own. */
async function offered(
  ...questions: readonly (readonly string[])[]
): Promise<readonly (readonly string[])[]> {
  const asked = questions.map(
    (words) =>
      `COMP_WORDS=(fleetgc ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _fleetgc; echo "\${COMPREPLY[*]}"`,
  );
  const program = [script, ...asked].join('\n');
  const { stdout } = await promisify(execFile)('bash', ['--norc', '--noprofile', '-c', program]);
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' ').filter((word) => word !== ''));
}

test('bash offers each verb, family and flag that there is, and nothing else', async () => {
  const verbs = await loadAllVerbs();
  const [first, policy, ...flags] = await offered(
    [''],
    ['policy', ''],
    ...verbs.map(({ name }) => [...name.split(' '), '--']),
  );

  expect(new Set(first)).toEqual(new Set(['help', ...verbs.map(({ name }) => name.split(' ')[0] ?? '')]));
  expect(policy).toEqual([
    'validate',
    'from-kubelet',
    'apply',
    'list',
    'show',
    'effective',
    'delete',
    'sign',
    'export',
  ]);
  for (const [index, { options }] of verbs.entries()) {
    const own = options.filter(({ positional }) => !positional);
    expect(flags[index]).toEqual([
      ...own.map(({ kind, flag, default: standard }) =>
        kind === 'switch' && standard === 'true' ? flag.replace('--', '--no-') : flag,
      ),
      '--config',
      '--help',
    ]);
  }
});

test.each([
  { words: ['--'], offers: ['--help', '--version'] },
  { words: ['policy', '--'], offers: [] },
  { words: ['status', '--output', ''], offers: ['table', 'json', 'yaml'] },
  { words: ['status', '--output', '=', 'j'], offers: ['json'] },
  { words: ['status', '--output=j'], offers: ['--output=json'] },
  { words: ['status', '--kafka-brokers', ''], offers: [] },
  { words: ['audit', 'archive', ''], offers: ['check'] },
  { words: ['nonsense', ''], offers: [] },
])('bash offers $offers behind $words', async ({ words, offers }) => {
  expect(await offered(words)).toEqual([offers]);
});
