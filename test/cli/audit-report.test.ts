import { expect, test } from 'vitest';
import { AuditReport } from '../../schemas/audit-report.ts';
import { nodeOutput } from '../../services/shared/handler.ts';
import { timedLog } from '../audit/support/timed-log.ts';
import { image, inventory } from '../fixtures/inventory.ts';
import { objectResult, pressureUnrelieved, removed } from '../fixtures/results.ts';
import { HOUR, instant } from '../fixtures/time.ts';
import { outgoing } from '../support/log-record.ts';
import { inProcess } from './fleetgc.ts';

const T = Date.UTC(2026, 0, 5, 12);
const RANGE = ['--from', '2026-01-05', '--to', '2026-01-06'];

/** An image with a name made to mislead goes and comes back, and the reclaim ends above its target. */
async function recordedLog() {
  const { log, path, publishAt } = await timedLog();
  const images = [image('image-1', { repoTags: ['evil|`\u001b[2J<script>'], sizeBytes: 2_000_000 })];
  await publishAt(T, outgoing(nodeOutput('inventory', inventory({ images }))));
  await publishAt(
    T + 1_000,
    outgoing(nodeOutput('results', objectResult({ result: removed(1_500_000) }))),
    outgoing(nodeOutput('results', pressureUnrelieved())),
  );
  const takenAt = instant({ sinceBootMs: 25 * HOUR });
  await publishAt(T + 61_000, outgoing(nodeOutput('inventory', inventory({ id: 'i2', takenAt, images }))));
  await log[Symbol.asyncDispose]();
  return (...args: readonly string[]) =>
    inProcess(['audit', 'report', ...args, '--log', 'embedded', '--log-path', path]);
}

test('markdown says what people ask, and what looks like markup stays text', async () => {
  const run = await recordedLog();
  const { exitCode, stdout, stderr } = await run(...RANGE);

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toContain('1 object removed, 1.5 MB freed as the nodes measured it.');
  expect(stdout).toContain('| image | unused, and least recently used | D11 | 1 | 1.5 MB |');
  expect(stdout).toContain('| `prod/web-1` | 1 | 2026-01-05T12:00:01Z | imageGC | in-use 700 B (2) |');
  expect(stdout).toContain(
    "| `evil\\|'\\u{1b}[2J<script>` | `prod/web-1` | 2.0 MB | unused, and least recently used | 2026-01-05T12:00:01Z | 1m |",
  );
});

test('json is what its schema says', async () => {
  const run = await recordedLog();
  const { stdout } = await run(...RANGE, '-o', 'json');

  expect(AuditReport.parse(JSON.parse(stdout))).toMatchObject({
    removed: { objects: 1, freedBytes: '1500000' },
    pulledAgain: [{ imageId: 'image-1' }],
  });
});

test('a period ends where --to says', async () => {
  const run = await recordedLog();
  const at = async (...args: readonly string[]) =>
    AuditReport.parse(JSON.parse((await run(...args, '-o', 'json')).stdout)).range;

  expect(await at('--to', '2026-01-06', '--period', '2d')).toEqual({
    fromMs: Date.UTC(2026, 0, 4),
    toMs: Date.UTC(2026, 0, 6),
  });
  expect(await at('--to', '2026-01-06')).toMatchObject({ fromMs: Date.UTC(2025, 11, 30) });
});

test('a time without a record is no report of nothing', async () => {
  const run = await recordedLog();
  const { exitCode, stdout, stderr } = await run('--from', '2026-01-07', '--to', '2026-01-08');

  expect(exitCode).toBe(3);
  expect(stdout).toContain('No record of any node lies in that time.');
  expect(stdout).not.toContain('removed');
  expect(stderr).toContain('there is nothing to report');
});

test.each([
  { args: ['--period', '0s'], says: '--period must be a length of time such as 7d, 24h or 90m' },
  { args: ['--period', '7d', '--from', '2h'], says: 'give either --period or --from' },
])('$args is refused', async ({ args, says }) => {
  const run = await recordedLog();
  const { exitCode, stderr } = await run(...args);

  expect(exitCode).toBe(2);
  expect(stderr).toContain(says);
});
