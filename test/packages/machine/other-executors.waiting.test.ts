import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { otherExecutors } from '../../../packages/machine/lock-holders.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Holds the lock as `fleetgc WORDS` would, and says when it has it. */
const HOLDER = `
  import { DatabaseSync } from 'node:sqlite';
  const db = new DatabaseSync(process.env.LOCK);
  db.exec('BEGIN EXCLUSIVE');
  process.stdout.write('held');
  process.stdin.resume();
`;

async function holding(words: readonly string[]) {
  const directory = temporaryDirectory();
  const program = join(directory, 'cli.mjs');
  writeFileSync(program, HOLDER);
  const env = { ...process.env, LOCK: join(directory, 'executor.lock') };
  const child = spawn(process.execPath, [program, ...words], { env, stdio: ['pipe', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  const found = otherExecutors(temporaryDirectory()).filter(({ pid }) => pid === child.pid);
  child.stdin.end();
  await once(child, 'exit');
  return { found, directory };
}

test.each([
  { words: ['run'], runtimeEndpoint: null },
  { words: ['node', '--runtime-endpoint', '/run/a.sock'], runtimeEndpoint: '/run/a.sock' },
  { words: ['node-executor', '--runtime-endpoint=/run/b.sock'], runtimeEndpoint: '/run/b.sock' },
])('a process that removes from a runtime is found: $words', async ({ words, runtimeEndpoint }) => {
  const { found, directory } = await holding(words);
  expect(found).toMatchObject([
    { command: `fleetgc ${words.join(' ')}`, stateDirectory: directory, runtimeEndpoint },
  ]);
});

test.each([[['cluster', 'run']], [['cluster', 'executor']], [['node-agent']], [['audit']]])(
  'another one is not, though it holds such a lock: %s',
  async (words) => {
    expect((await holding(words)).found).toEqual([]);
  },
);
