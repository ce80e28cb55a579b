import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import { timeText } from '../../../../packages/text/time-text.ts';
import { AuditSimulation } from '../../../../schemas/reports/audit-simulation.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { HOUR, instant, MINUTE, NOW } from '../../../fixtures/time.ts';
import { timedLog } from '../../../packages/audit/support/timed-log.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { inProcess } from '../../fleetgc.ts';

/** Long past what any topic keeps: who asks deletes nothing. */
const T = Date.UTC(2026, 0, 1);
const iso = (minute: number): string => timeText(T + minute * MINUTE);

const POLICY =
  'name: lower\nmode: dry-run\nimageGCHighThresholdPercent: 70\nimageGCLowThresholdPercent: 65\n';

/** A node at 75 % of a disk of 1000 bytes, of which 100 are an image that is used at the second look: then another goes. */
async function recordedLog({ policy = POLICY, lastMinute = 5 } = {}) {
  const { log, path, publishAt } = await timedLog();
  const file = join(temporaryDirectory(), 'lower.yaml');
  writeFileSync(file, policy);
  for (const minute of [0, lastMinute]) {
    const event = inventory({
      id: `i${minute}`,
      takenAt: instant({ wallTimeMs: NOW + minute * MINUTE, sinceBootMs: 24 * HOUR + minute * MINUTE }),
      images: [
        image('a', { sizeBytes: 100, usedBy: minute === 0 ? [] : [{ kind: 'container', id: 'c1' }] }),
        image('b', { sizeBytes: 100, lastUsedMs: NOW - HOUR }),
      ],
      filesystems: filesystems({ availableBytes: '250' }),
    });
    await publishAt(T + minute * MINUTE, outgoing(nodeOutput('inventory', event)));
  }
  await log[Symbol.asyncDispose]();
  return (...args: readonly string[]) =>
    inProcess(['audit', 'simulate', '--policy', file, ...args, '--log', 'embedded', '--log-path', path]);
}

test('a policy that says dry-run is tried as if it enforced, and compared with what happened', async () => {
  const run = await recordedLog();
  const { exitCode, stdout, stderr } = await run();

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toMatch(/^Simulated: lower \([0-9a-f]{12}\)\nAgainst: {3}what happened\n/);
  expect(stdout).toContain('On 2 complete inventories of 1 node\n');
  expect(stdout).toMatch(
    /\nall +1 +simulated +2 +0 +0 +0 +200 B +1 +0 +0s +75 %\nall +1 +happened +0 +0 +0 +0 +0 B +0 +0 +5m +75 %\n/,
  );
  expect(stdout).toMatch(
    new RegExp(`\\nsimulated +registry\\.example/a:1 +prod/web-1 +100 B +${iso(0)} +5m\\n`),
  );
  expect(stdout).toContain(`prod/web-1 is an estimate since ${iso(0)}.`);
  expect(stdout).toContain('What a simulation cannot know:\n- Each recorded');
});

test.each([
  { args: [], regrets: 1 },
  { args: ['--regret-window', '4m59s'], regrets: 0 },
  { args: ['--nodes', 'web-1'], regrets: 1 },
  { args: ['--nodes', 'other,prod/web-1'], regrets: 1 },
  { args: ['--to', iso(5)], regrets: 0 },
])('json with $args is what its schema says', async ({ args, regrets }) => {
  const run = await recordedLog();
  const { stdout } = await run('-o', 'json', ...args);
  expect(AuditSimulation.parse(JSON.parse(stdout)).regrets).toHaveLength(regrets);
});

test('for how long nobody knows how full the disk was is told where it is not nothing', async () => {
  const run = await recordedLog({ lastMinute: 60 });
  const { stdout } = await run();
  expect(stdout).toContain('\nFor 45m of 1h, all nodes added up, nobody knows how full imagefs was; TIME');
  expect((await run('--to', iso(60))).stdout).not.toContain('nobody knows how full');
});

test('a node that was asked for and has no inventory is told, once', async () => {
  const run = await recordedLog();
  const { exitCode, stderr } = await run('--nodes', 'prod/web-1,nope,stage/web-1,nope');
  expect(exitCode).toBe(0);
  expect(stderr.match(/no complete inventory of \S+ lies in that time/g)).toEqual([
    'no complete inventory of nope lies in that time',
    'no complete inventory of stage/web-1 lies in that time',
  ]);
});

test('ndjson has a line for each node, each regret, and the rest', async () => {
  const run = await recordedLog();
  const { stdout } = await run('-o', 'ndjson');
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

  expect(lines.map(({ part }) => part)).toEqual(['node', 'regret', 'summary']);
  expect(lines[0]).toMatchObject({ node: 'web-1' });
  expect(lines[2].total.nodes).toBe(1);
});

test.each([
  { args: ['--nodes', 'stage/web-1'], says: 'no complete inventory of stage/web-1 lies in that time' },
  { args: ['--from', iso(6)], says: 'no complete inventory of any node lies in that time' },
])('with $args there is nothing to simulate', async ({ args, says }) => {
  const run = await recordedLog();
  expect(await run(...args)).toEqual({ exitCode: 3, stdout: '', stderr: expect.stringContaining(says) });
});

test('a policy with a mistake is told, and nothing is simulated', async () => {
  const run = await recordedLog({ policy: `${POLICY}imageGCHihgThresholdPercent: 70\n` });
  const { exitCode, stdout, stderr } = await run();

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toContain('nothing was simulated');
});
