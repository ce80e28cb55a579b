import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../temporary-directory.ts';
import { waitUntil } from '../wait-until.ts';
import { runChild } from './child.ts';
import { suiteEnvironment } from './environment.ts';
import { summary } from './report.ts';
import { vitest } from './suites.ts';
import { countTests } from './vitest-counts.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');
const env = suiteEnvironment(process.env, REPOSITORY);
const signal = new AbortController().signal;

test('projects of vitest are counted test by test, and what did not run is a failure', async () => {
  const cwd = temporaryDirectory();
  const projects = ['mixed', 'broken'].map((name) => ({
    test: { name, globals: true, include: [`${name}.test.js`], pool: 'threads' },
  }));
  const files = {
    'vitest.config.js': `export default ${JSON.stringify({ test: { projects } })};`,
    'mixed.test.js':
      'test("a", () => {}); test("b", () => { throw new Error("b"); }); test.skip("c", () => {}); test.todo("d");',
    'broken.test.js': 'import "./missing.js"; test("a", () => {});',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);

  const outcome = await vitest(['mixed', 'broken']).run({ cwd, env, signal });

  const failures = ['b', 'c', 'd', 'broken.test.js'];
  expect(outcome).toMatchObject({ passed: 1, failed: failures.length });
});

const PASSED = { name: 'a.test.js', status: 'passed', assertionResults: [{ status: 'passed' }] };

test('an error that no test noticed is a failure', () => {
  const report = JSON.stringify({ testResults: [PASSED] });
  expect(countTests(report, true)).toMatchObject({ passed: 1, failed: 0 });
  expect(countTests(report, false)).toMatchObject({ passed: 1, failed: 1 });
});

test.for([
  { report: null, because: 'vitest wrote no report' },
  { report: '{"testResults":[]}', because: 'no test ran' },
])('a run without any test fails: $because', ({ report, because }) => {
  expect(countTests(report, true)).toEqual({ passed: 0, failed: 1, problems: [because] });
});

test.each(['stdout', 'stderr'] as const)(
  'a run whose %s is read no more ends without a stack trace',
  async (closed) => {
    const option = closed === 'stdout' ? '--help' : '--unknown';
    const child = spawn(process.execPath, ['test/run.ts', option], { cwd: REPOSITORY, env });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
    child[closed].destroy();
    const [status] = await once(child, 'close');

    expect(said).toBe('');
    expect(status).toBe(closed === 'stdout' ? 0 : 2);
  },
);

test('an interrupted run leaves no process behind', async () => {
  const interrupted = new AbortController();
  const pidFile = join(temporaryDirectory(), 'pid');
  const script = `(trap '' TERM; exec sleep 1000) & echo $! > ${pidFile}; wait`;
  const child = runChild('sh', ['-c', script], {
    cwd: '/',
    env,
    silenceMs: 3_600_000,
    signal: interrupted.signal,
  });
  const grandchild = await waitUntil('the grandchild to start', 5000, () =>
    Number(readFileSync(pidFile, 'utf8')),
  );

  interrupted.abort();

  expect((await child).ok).toBe(false);
  await waitUntil('the grandchild to be gone', 5000, () => !isAlive(grandchild));
});

test('a run that writes nothing any more is ended, and says why', async () => {
  const options = { cwd: '/', env, silenceMs: 100, signal };
  const { ok, output } = await runChild('sh', ['-c', 'echo begun; exec sleep 1000'], options);
  expect({ ok, output }).toEqual({
    ok: false,
    output: expect.stringMatching(/ended: it wrote nothing for 0\.1 s\n$/),
  });
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
    { name: 'unit', passed: 950, failed: 2, seconds: 20 },
  ];

  expect(summary(rows).split('\n').at(-1)).toBe('951 passed, 2 failed');
});

/** By its command line: a number may soon be another process's, and who is dead and not yet waited for has none. */
function isAlive(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sleep');
  } catch {
    return false;
  }
}
