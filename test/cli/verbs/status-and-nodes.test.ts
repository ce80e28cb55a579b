import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { DeadLetter } from '../../../schemas/events/dead-letter.ts';
import { FleetNodes } from '../../../schemas/reports/fleet-nodes.ts';
import { FleetStatus } from '../../../schemas/reports/fleet-status.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { instant } from '../../fixtures/time.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { publishWithPositions } from '../../support/logs/positions.ts';
import { inProcess, ownLog } from '../fleetgc.ts';

const letter: DeadLetter = {
  type: 'fleetgc.dead-letter',
  version: 1,
  id: 'letter-1',
  cause: 'handler-failed',
  message: 'broken',
  group: 'fleetgc-image-gc',
  topic: 'gc.node.inventory',
  partition: 0,
  offset: '1',
  timestampMs: 0,
  key: Buffer.from('prod/web-1').toString('base64'),
  value: null,
  headers: {},
  omittedBytes: 0,
  suppressedBefore: 0,
};
const now = () => instant({ wallTimeMs: Date.now() });

function deleteTopic(path: string, topic: string): void {
  const db = new DatabaseSync(path);
  db.prepare('DELETE FROM partitions WHERE topic = ?').run(topic);
  db.close();
}

test('nodes and status tell a fleet as it is, for people and for machines', async () => {
  const { log, run } = await ownLog();
  await publishWithPositions(log, [
    outgoing(nodeOutput('diskStats', diskStats({}, { takenAt: now() }))),
    outgoing({ topic: 'deadLetters', key: 'prod/web-1', event: letter }),
  ]);

  const nodes = await run('nodes');
  expect(nodes).toMatchObject({ exitCode: 0, stderr: '' });
  expect(nodes.stdout).toMatch(/prod +web-1 +\d+s ago +90 % +\(none\) +keeps all +unknown +-\n/);
  const wide = await run('nodes', '-o', 'wide');
  expect(wide.stdout).toContain(diskStats().nodeInstance);
  const asJson = await run('nodes', '-o', 'json');
  expect(FleetNodes.parse(JSON.parse(asJson.stdout)).nodes).toHaveLength(1);

  const status = await run('status');
  expect(status).toMatchObject({ exitCode: 0, stderr: '' });
  expect(status.stdout).toContain('! pressure does not run: nothing is decided there. Start fleetgc run.');
  expect(status.stdout).toContain('! There are no policies: every node keeps everything.');
  expect(status.stdout).toContain('Nodes: 1 heard, 0 silent in the last day');
  const told = FleetStatus.parse(JSON.parse((await run('status', '-o', 'json')).stdout));
  expect(told).toMatchObject({
    log: { kind: 'embedded', topicProblems: [] },
    deadLetters: { total: 1, redriven: 0, byCause: { [letter.cause]: 1 } },
    services: [
      { name: 'pressure', members: 0, lag: 0, topics: null },
      { name: 'container-gc' },
      { name: 'image-gc' },
    ],
  });
});

test('pauses and policies are told, with how many nodes they hold for', async () => {
  const { log, run } = await ownLog();
  await publishWithPositions(log, [outgoing(nodeOutput('diskStats', diskStats({}, { takenAt: now() })))]);
  await run('pause', '--reason', 'upgrade of the brokers');
  const { stdout } = await run('status');
  expect(stdout).toContain('! 1 pause holds: nothing is removed there until fleetgc resume.');
  expect(stdout).toMatch(/all nodes +\S+ +1 +upgrade of the brokers/);
});

test('an empty log is told as such', async () => {
  const { run } = await ownLog();
  expect(await run('nodes')).toMatchObject({
    exitCode: 0,
    stdout: '',
    stderr: 'No node was heard in the last day.\n',
  });
});

test('topics that are missing are what status tells, and no other verb has to', async () => {
  const path = (await ownLog()).path.replace('event-log.db', 'other.db');
  await inProcess(['topics', 'create', '--log', 'embedded', '--log-path', path]);
  deleteTopic(path, 'gc.node.disk-stats');
  const { exitCode, stdout } = await inProcess(['status', '--log', 'embedded', '--log-path', path]);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/! .*gc\.node\.disk-stats is missing/);
});

test.each([
  {
    missing: 'gc.node.commands',
    told: [
      /^Nodes: 1 heard, 0 silent in the last day; 0 without/m,
      /^default +1 +enforce +1$/m,
      /^all nodes .* 1 +upgrade$/m,
    ],
  },
  {
    missing: 'gc.node.disk-stats',
    told: [/^Nodes: unknown/m, /^default +1 +enforce +unknown$/m, /^all nodes .* unknown +upgrade$/m],
  },
  {
    missing: 'gc.policies',
    told: [/^Nodes: 1 heard, 0 silent in the last day; unknown without/m, /^Policies and pauses: unknown/m],
  },
  { missing: 'gc.dead-letters', told: [/^Messages that could not .*: unknown/m, /^Nodes: 1 heard/m] },
])(
  'where $missing is missing, the rest is told as it is and only that is unknown',
  async ({ missing, told }) => {
    const { log, path, run } = await ownLog();
    const policy = appliedPolicy({ name: 'default' });
    await publishWithPositions(log, [
      outgoing(nodeOutput('diskStats', diskStats({}, { takenAt: now() }))),
      outgoing({ topic: 'policies', key: 'default', event: policy }),
    ]);
    await run('pause', '--reason', 'upgrade');
    await log[Symbol.asyncDispose]();
    deleteTopic(path, missing);
    const { exitCode, stdout } = await run('status');
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`! Topic ${missing} is missing`);
    for (const line of told) expect(stdout).toMatch(line);
    expect(stdout).not.toContain('There are no policies');
    FleetStatus.parse(JSON.parse((await run('status', '-o', 'json')).stdout));
  },
);
