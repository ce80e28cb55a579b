import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../wait-until.ts';
import { runChild } from './child.ts';
import { suiteEnvironment } from './environment.ts';
import { summary } from './report.ts';
import { vitest } from './suites.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');
const env = suiteEnvironment(process.env, REPOSITORY);
const signal = new AbortController().signal;

describe.concurrent('a vitest project is counted', () => {
  let cwd: string;
  beforeAll(() => {
    cwd = mkdtempSync(join(tmpdir(), 'fleetgc-counted-'));
    const projects = ['mixed', 'broken', 'late', 'empty'].map((name) => ({
      test: { name, globals: true, include: [`${name}.test.js`] },
    }));
    const files = {
      'vitest.config.js': `export default ${JSON.stringify({ test: { projects } })};`,
      'mixed.test.js':
        'test("a", () => {}); test("b", () => { throw new Error("b"); }); test.skip("c", () => {}); test.todo("d");',
      'broken.test.js': 'import "./missing.js"; test("a", () => {});',
      'late.test.js': 'test("a", () => { Promise.reject(new Error("nobody waits")); });',
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  });
  afterAll(() => rmSync(cwd, { recursive: true, force: true }));

  test.for([
    { project: 'mixed', passed: 1, failed: 3, because: 'what was skipped did not pass' },
    { project: 'broken', passed: 0, failed: 1, because: 'a file that cannot be loaded is a failure' },
    { project: 'late', passed: 1, failed: 1, because: 'an error that nobody waits for is a failure' },
    { project: 'empty', passed: 0, failed: 1, because: 'no test at all is a failure' },
  ])('$project: $passed passed, $failed failed, since $because', async ({ project, passed, failed }) => {
    const outcome = await vitest([project], 60_000).run({ cwd, env, signal });

    expect(outcome).toMatchObject({ passed, failed });
  });
});

test('an interrupted run leaves no process behind', async () => {
  const interrupted = new AbortController();
  const folder = mkdtempSync(join(tmpdir(), 'fleetgc-child-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const pidFile = join(folder, 'pid');
  const script = `(trap '' TERM; exec sleep 1000) & echo $! > ${pidFile}; wait`;
  const child = runChild('sh', ['-c', script], {
    cwd: '/',
    env,
    boundMs: 60_000,
    signal: interrupted.signal,
  });
  const grandchild = await waitUntil('the grandchild to start', 5000, () =>
    Number(readFileSync(pidFile, 'utf8')),
  );

  interrupted.abort();

  expect((await child).ok).toBe(false);
  await waitUntil('the grandchild to be gone', 5000, () => !isAlive(grandchild));
});

test('a suite gets nothing from the shell that could change what it does', () => {
  const shell = {
    HOME: '/root',
    PATH: '/usr/bin',
    FLEETGC_BROKERS: 'x:1',
    NODE_OPTIONS: '--inspect',
    TZ: 'Asia/Tokyo',
  };

  expect(suiteEnvironment(shell, '/repo')).toMatchObject({
    HOME: '/root',
    PATH: '/repo/node_modules/.bin:/usr/bin',
    TZ: 'UTC',
  });
  expect(Object.keys(suiteEnvironment(shell, '/repo'))).not.toContain('FLEETGC_BROKERS');
  expect(Object.keys(suiteEnvironment(shell, '/repo'))).not.toContain('NODE_OPTIONS');
});

test('the last line of the summary is the total', () => {
  const rows = [
    { name: 'types', passed: 1, failed: 0, seconds: 4 },
    { name: 'fast', passed: 950, failed: 2, seconds: 20 },
  ];

  expect(summary(rows).split('\n').at(-1)).toBe('951 passed, 2 failed');
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
