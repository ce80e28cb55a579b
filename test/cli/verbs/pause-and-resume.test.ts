import { describe, expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { instant } from '../../fixtures/time.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { publishWithPositions } from '../../support/logs/positions.ts';
import { inProcess, ownLog } from '../fleetgc.ts';
import { jsonOf, readTopic } from '../read-topic.ts';
import { apply, WEB } from './policy/apply-text.ts';

test('a pause that nobody can read is told with its nodes, and resume ends it', async () => {
  const own = await ownLog();
  await own.run('pause', '--cluster', 'prod', '--reason', 'a disk is changed');
  const [record] = await readTopic(own.log, 'gc.policies');
  const key = record?.key ?? '';
  await own.log.publish([{ topic: TOPICS.policies.name, key, value: Buffer.from('{'), headers: {} }]);

  expect((await own.run('policy', 'list')).stderr).toMatch(
    /^warning: gc\.policies holds a record that cannot be read \(key "!pause .*", partition 0, offset 1\): the value is not JSON\. Nothing is removed on cluster prod until fleetgc resume ends this pause\.\n/,
  );
  expect((await own.run('resume', '--cluster', 'prod')).stdout).toBe('resumed: cluster prod\n');
  expect((await own.run('policy', 'list')).stderr).toBe(
    'There are no policies: every node keeps everything.\n',
  );
});

test('pause says what stands still and by when', async () => {
  const own = await ownLog();
  await apply(own, `${WEB}commandLifetime: 90s\n`);

  expect(await own.run('pause')).toEqual({
    exitCode: 0,
    stdout: 'paused: all nodes\n',
    stderr: `Nodes stop as soon as they read this, and within 1m30s at the latest; a removal that has begun ends. fleetgc status says how many nodes it is for. This undoes it: fleetgc resume --log embedded --log-path ${own.path}\n`,
  });
});

test.each([
  { options: [], command: 'fleetgc resume' },
  { options: ['--cluster', 'prod'], command: 'fleetgc resume --cluster prod' },
  {
    options: ['--pool', 'gpu', '--cluster', 'b,a', '--node-name', 'db-*'],
    command: "fleetgc resume --cluster b,a --node-name 'db-*' --pool gpu",
  },
  { options: ['--pool', "it's"], command: "fleetgc resume --pool 'it'\\''s'" },
])('pause $options tells the command that undoes it, for a shell', async ({ options, command }) => {
  const { run, path } = await ownLog();

  expect((await run('pause', ...options)).stderr).toContain(
    ` This undoes it: ${command} --log embedded --log-path ${path}\n`,
  );
});

test.each([
  { options: ['--cluster', ''], says: '--cluster must not be empty; leave it out for no such condition' },
  {
    options: ['--node-name', ','],
    says: '--node-name must not be empty; leave it out for no such condition',
  },
  { options: ['--pool', ' '], says: '--pool must not be empty; leave it out for no such condition' },
  { options: ['--cluster', 'a b'], says: '--cluster must be 1 to 253 letters' },
  { options: ['--node-name', 'db-[1'], says: '--node-name must have no wildcards but *, ** and ?' },
  { options: ['--node-name', '!db-1'], says: '--node-name must not start with an exclamation mark' },
])(
  '$options selects no node that was meant, so neither pause nor resume takes it',
  async ({ options, says }) => {
    const { run } = await ownLog();
    await run('pause');

    for (const verb of ['pause', 'resume']) {
      const { exitCode, stdout, stderr } = await run(verb, ...options);
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toContain(says);
    }
    expect((await run('policy', 'list')).stdout).toMatch(/^paused: all nodes, since [^ ]*\n$/);
  },
);

test('a pause of one cluster does not end the pause of another', async () => {
  const { run } = await ownLog();
  await run('pause', '--cluster', 'a');
  await run('pause', '--cluster', 'b', '--node-name', 'db-*');
  const { stdout } = await run('policy', 'list');

  expect(stdout).toMatch(/^paused: cluster a, since/m);
  expect(stdout).toMatch(/^paused: cluster b, node db-\*, since/m);
});

test('a pool is paused by itself, and resumed by the same option', async () => {
  const { run } = await ownLog();

  expect((await run('pause', '--pool', 'gpu,storage')).stdout).toBe('paused: pool gpu or storage\n');
  expect((await run('resume')).exitCode).toBe(1);
  expect((await run('resume', '--all', '--pool', 'gpu')).exitCode).toBe(2);
  expect((await run('resume', '--pool', 'storage,gpu')).stdout).toBe('resumed: pool gpu or storage\n');
});

test('pausing twice is one pause, with the newer reason', async () => {
  const { run } = await ownLog();
  await run('pause', '--reason', 'first');
  await run('pause', '--reason', 'second');

  expect((await run('policy', 'list')).stdout).toMatch(/^paused: all nodes, since [^ ]* \(second\)\n$/);
});

test('resume ends the pause that was made with the same options, and is safe twice', async () => {
  const { run } = await ownLog();
  await run('pause', '--cluster', 'a,b');

  expect(await run('resume', '--cluster', 'b', '--cluster', 'a')).toEqual({
    exitCode: 0,
    stdout: 'resumed: cluster a or b\n',
    stderr: '',
  });
  expect(await run('resume', '--cluster', 'a,b')).toEqual({
    exitCode: 0,
    stdout: '',
    stderr: 'Nothing is paused.\n',
  });
});

test('resume of something else than what is paused fails, and says what is', async () => {
  const { run } = await ownLog();
  await run('pause', '--cluster', 'a');

  expect(await run('resume')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr:
      'gc.policies holds no pause of all nodes. Its end was written there all the same: services and nodes that remember one of an earlier gc.policies let go of it when they read this.\n' +
      'fleetgc resume: there is no pause of all nodes, but of: cluster a. Name one with the same options as it was made, or use --all\n',
  });
  expect((await run('policy', 'list')).stdout).toContain('paused: cluster a');
  expect((await run('resume', '--all')).stdout).toBe('resumed: cluster a\n');
  expect((await run('resume', '--all', '--cluster', 'a')).exitCode).toBe(2);
});

test('a node that knows its cluster from the environment pauses the whole fleet all the same', async () => {
  const { path } = await ownLog();
  const args = ['pause', '--log', 'embedded', '--log-path', path];

  expect((await inProcess(args, { FLEETGC_CLUSTER: 'prod' })).stdout).toBe('paused: all nodes\n');
});

test('resume writes the end of a pause that went with an earlier gc.policies', async () => {
  const own = await ownLog();
  expect((await own.run('resume', '--all')).stderr).toMatch(
    /^gc\.policies holds no pause\. Services and nodes that remember one .* which command ends it\.\n$/,
  );
  const resumed = await own.run('resume', '--cluster', 'a', '--node-name', 'n3');

  expect(resumed).toEqual({
    exitCode: 0,
    stdout: '',
    stderr:
      'gc.policies holds no pause of cluster a, node n3. Its end was written there all the same: services and nodes that remember one of an earlier gc.policies let go of it when they read this.\n',
  });
  expect((await readTopic(own.log, 'gc.policies')).map(jsonOf)).toMatchObject([
    { type: 'fleetgc.policy-deletion', key: '!pause [["a"],["n3"],[],[]]', wasHeld: false },
  ]);
});

describe('a selector that selects no node that was heard in the last day', () => {
  const fleetOfOne = async () => {
    const own = await ownLog();
    const takenAt = instant({ wallTimeMs: Date.now() });
    await publishWithPositions(own.log, [outgoing(nodeOutput('diskStats', diskStats({}, { takenAt })))]);
    return own;
  };
  const WARNING =
    'warning: No node that was heard in the last day is meant by node n3: are the names right? Known nodes: prod/web-1.\n';

  test('is warned of, after the pause and the resume are done', async () => {
    const { run } = await fleetOfOne();
    const paused = await run('pause', '--node-name', 'n3');
    expect(paused).toMatchObject({ exitCode: 0, stdout: 'paused: node n3\n' });
    expect(paused.stderr.endsWith(WARNING)).toBe(true);
    expect(await run('resume', '--node-name', 'n3')).toEqual({
      exitCode: 0,
      stdout: 'resumed: node n3\n',
      stderr: WARNING,
    });
  });

  test.each([
    ['a pattern that selects one', ['--node-name', 'web-*']],
    ['all nodes', []],
  ])('is none of the warnings on %s', async (_, options) => {
    const { run } = await fleetOfOne();
    expect((await run('pause', ...options)).stderr).not.toContain('No node');
    expect((await run('resume', ...options)).stderr).toBe('');
  });
});
