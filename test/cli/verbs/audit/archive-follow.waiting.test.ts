import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checked } from '../../../packages/audit/support/archives.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { inProcess } from '../../fleetgc.ts';
import { embeddedLog, readiness } from '../../service-options.ts';
import { BOUND_MS, spawnVerb, startVerb } from '../../service-process.ts';

test('a following archiver is ready, counts, archives, and stops in order when told to', async () => {
  const options = await embeddedLog();
  const directory = join(temporaryDirectory(), 'archive');
  await inProcess(['pause', '--reason', 'test', ...options]);
  const running = spawnVerb('audit', 'archive', '--follow', '--to', directory, ...options);
  const { text } = await readiness(running, { status: 200, says: 'ready' });
  await waitUntil('the first pass', BOUND_MS, () => running.output.stdout.includes('head of the archive'));
  const metrics = await running.get('/metrics');

  expect(text).toBe('[+] event log\n[+] archive\n[+] head\n[+] retention\nready\n');
  expect(metrics.text).toContain('fleetgc_archive_records_total{topic="gc.policies"} 1');
  expect(metrics.text).toContain('fleetgc_archive_lost_records_total{topic="gc.policies"} 0');
  expect(metrics.text).toMatch(/fleetgc_archive_lag_seconds\{topic="gc\.policies"\} \d/);
  expect(metrics.text).toMatch(/fleetgc_archive_retention_left_seconds\{topic="gc\.node\.observe"\} 8\d{4}/);
  expect(await running.terminate()).toBe(0);
  expect(running.output.stdout).toMatch(
    /^2 records archived in 2 files\nhead of the archive: [0-9a-f]{64}\n$/,
  );
  expect(running.output.stderr).toContain('"msg":"archived"');
  expect(await checked(directory)).toMatchObject({ deviations: [], unfinished: [], records: 2 });
});

test('what holds it up makes it unready, and is tried again', async () => {
  const options = await embeddedLog();
  const directory = temporaryDirectory();
  const first = startVerb('audit', 'archive', '--follow', '--to', directory, ...options);
  await readiness(first, { status: 200, says: '[+] retention' });
  await waitUntil('the archive', BOUND_MS, () => first.output.stderr.includes('"msg":"archived"'));
  const second = startVerb('audit', 'archive', '--follow', '--to', directory, ...options);
  await readiness(second, { status: 503, says: '[-] archive: another process writes to the archive' });

  expect(await second.terminate()).toBe(0);
  expect(await first.terminate()).toBe(0);
});

test.each([
  { name: '--every without --follow', args: ['--every', '15m'], says: '--every is for --follow' },
  { name: 'a period that is too long', args: ['--follow', '--every', '7h'], says: 'from 10s to 6h' },
])('refuses $name', async ({ args, says }) => {
  const options = ['--log', 'embedded', '--to', temporaryDirectory(), ...args];

  expect(await inProcess(['audit', 'archive', ...options])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining(says),
  });
});

test('a log that is not there is not begun', async () => {
  const path = join(temporaryDirectory(), 'none.db');
  const args = ['--follow', '--to', temporaryDirectory(), '--log', 'embedded', '--log-path', path];

  expect(await inProcess(['audit', 'archive', ...args])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(`there is no event log at ${path}`),
  });
});
