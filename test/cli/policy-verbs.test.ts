import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TOPICS } from '../../schemas/events/topics.ts';
import { PolicyRecord } from '../../schemas/policy/policy.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type Ended, inProcess, type OwnLog, ownLog } from './fleetgc.ts';
import { jsonOf, readTopic } from './read-topic.ts';

const WEB = 'name: web\nmode: enforce\nselector: {clusters: [prod]}\n';
const ALL = 'name: all\nmode: dry-run\npriority: -1\n';
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;

/** Writes the text to a file and applies it. */
function apply({ run }: OwnLog, text: string, ...options: readonly string[]): Promise<Ended> {
  const path = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(path, text);
  return run('policy', 'apply', path, ...options);
}

test('apply writes the version and then the policy, with the text as it was written', async () => {
  const own = await ownLog();
  const { exitCode, stdout, stderr } = await apply(own, `# web nodes\n${WEB}`);

  expect({ exitCode, stdout, stderr }).toEqual({
    exitCode: 0,
    stdout: 'web: created as version 1, enforce on cluster prod\n',
    stderr: '',
  });
  const [version] = await readTopic(own.log, TOPICS.policyVersions.name);
  const [state] = await readTopic(own.log, TOPICS.policies.name);
  expect(state?.key).toBe('web');
  expect(state && jsonOf(state)).toMatchObject({
    type: 'fleetgc.policy',
    hash: version?.key,
    policy: { name: 'web', mode: 'enforce', imageGCHighThresholdPercent: 85 },
    source: `# web nodes\n${WEB}`,
  });
  expect(version && jsonOf(version)).toEqual(state && jsonOf(state));
});

test('applying what holds already writes nothing', async () => {
  const own = await ownLog();
  await apply(own, WEB);
  const { stdout } = await apply(own, `# another comment, the same meaning\n${WEB}priority: 0\n`);

  expect(stdout).toBe('web: unchanged, version 1\n');
  expect(await readTopic(own.log, TOPICS.policies.name)).toHaveLength(1);
  expect(await readTopic(own.log, TOPICS.policyVersions.name)).toHaveLength(1);
});

test('apply says which settings differ', async () => {
  const own = await ownLog();
  await apply(own, WEB);
  const { stdout } = await apply(
    own,
    'name: web\nmode: dry-run\nselector: {clusters: [prod, test]}\nkeep: {images: [registry.example/**]}\n',
  );

  expect(stdout).toBe(
    [
      'web: changed, version 2',
      '  mode: enforce to dry-run',
      '  selector.clusters: ["prod"] to ["prod","test"]',
      '  keep.patterns: [] to ["registry.example/**"]',
      '',
    ].join('\n'),
  );
});

test('a dry run of apply changes nothing', async () => {
  const own = await ownLog();
  const { stdout, stderr } = await apply(own, WEB, '--dry-run');

  expect(stdout).toBe('web: would be created as version 1, enforce on cluster prod\n');
  expect(stderr).toBe('Dry run: nothing was changed.\n');
  expect(await readTopic(own.log, TOPICS.policies.name)).toEqual([]);
  expect(await readTopic(own.log, TOPICS.policyVersions.name)).toEqual([]);
});

test('[B12] one bad policy in a file: nothing is applied', async () => {
  const own = await ownLog();
  const { exitCode, stdout, stderr } = await apply(own, `${WEB}---\nname: b\nmode: off\n`);

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(
    /:6:7: mode: must be [^\n]*\nfleetgc policy apply: 1 problem; nothing was applied\n$/,
  );
  expect(await readTopic(own.log, TOPICS.policies.name)).toEqual([]);
});

test('a version counts the contents that were applied under a name, for as long as the name is there', async () => {
  const own = await ownLog();
  const dryRun = WEB.replace('enforce', 'dry-run');
  const told: string[] = [];
  for (const text of [WEB, dryRun, `# the same\n${dryRun}`, WEB]) told.push((await apply(own, text)).stdout);
  expect(told.map((text) => text.split('\n')[0])).toEqual([
    'web: created as version 1, enforce on cluster prod',
    'web: changed, version 2',
    'web: unchanged, version 2',
    'web: changed, version 3',
  ]);
  expect((await own.run('policy', 'list')).stdout).toMatch(/^web +3 +enforce/m);
  expect((await own.run('policy', 'show', 'web')).stdout).toMatch(/^# version 3, /);
  const { stdout } = await own.run('policy', 'effective', '--cluster', 'prod', '--node', 'n');
  expect(stdout).toMatch(/^Policy web .* holds for prod\/n; version 3, hash /);
  const versions = (await readTopic(own.log, TOPICS.policyVersions.name)).map(jsonOf);
  expect(versions).toMatchObject([{ policyVersion: 1 }, { policyVersion: 2 }, { policyVersion: 3 }]);
  expect(new Set(versions.map((version) => PolicyRecord.parse(version).id)).size).toBe(3);

  await own.run('policy', 'delete', 'web');
  expect((await apply(own, dryRun)).stdout).toMatch(/^web: created as version 1, /);
});

test('apply for machines', async () => {
  const own = await ownLog();
  const { stdout } = await apply(own, WEB, '--output', 'json');

  expect(JSON.parse(stdout)).toEqual({
    dryRun: false,
    changes: [
      {
        name: 'web',
        change: 'created',
        version: 1,
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        settings: [],
      },
    ],
  });
});

test('list shows policies in the order in which they are asked, after the pauses', async () => {
  const own = await ownLog();
  await apply(own, `${ALL}---\n${WEB}`);
  await own.run('pause', '--cluster', 'prod', '--reason', 'registry is down');
  const { stdout } = await own.run('policy', 'list');

  expect(stdout.replaceAll(TIME, '<the time of applying>')).toBe(
    [
      'paused: cluster prod, since <the time of applying> (registry is down)',
      '',
      'NAME   VERSION   MODE      PRIORITY   IMAGES       APPLIED                NODES',
      'web    1         enforce   0          85% to 80%   <the time of applying>   cluster prod',
      'all    1         dry-run   -1         85% to 80%   <the time of applying>   all nodes',
      '',
    ].join('\n'),
  );
});

test('list of nothing', async () => {
  const { run } = await ownLog();

  expect(await run('policy', 'list')).toEqual({
    exitCode: 0,
    stdout: '',
    stderr: 'There are no policies: every node keeps everything.\n',
  });
});

test('what show prints can be applied again, and changes nothing', async () => {
  const own = await ownLog();
  await apply(own, `${WEB}imageMinimumGCAge: -1m30s\nkeep: {labels: {keep: "yes"}}\n`);
  const { stdout } = await own.run('policy', 'show', 'web');

  expect(stdout).toMatch(/^# version 1, applied .*Z, hash [0-9a-f]{64}\nname: web\n/);
  expect(stdout).toContain('imageMinimumGCAge: -1m30s\n');
  expect((await apply(own, stdout)).stdout).toBe('web: unchanged, version 1\n');
});

test('show --as-written gives the text that was applied', async () => {
  const own = await ownLog();
  await apply(own, `# mine\n${WEB}`);

  expect((await own.run('policy', 'show', 'web', '--as-written')).stdout).toMatch(
    /^# version 1, applied [^\n]*\n# mine\nname: web\nmode: enforce\nselector: \{clusters: \[prod\]\}\n$/,
  );
});

test('show of a name that does not exist says which one was probably meant', async () => {
  const own = await ownLog();
  await apply(own, 'name: production\nmode: dry-run\n');

  expect(await own.run('policy', 'show', 'prodction')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'fleetgc policy show: there is no policy named prodction; did you mean production?\n',
  });
});

test('delete removes policies, all that are named or none', async () => {
  const own = await ownLog();
  await apply(own, `${ALL}---\n${WEB}`);

  const refused = await own.run('policy', 'delete', 'web', 'nope');
  expect(refused).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: 'fleetgc policy delete: there is no policy named nope\n',
  });
  expect(await own.run('policy', 'delete', 'web')).toEqual({
    exitCode: 0,
    stdout: 'web: deleted\n',
    stderr:
      'On its nodes the next policy that selects them holds now. Without any, they keep everything. Applied again, it begins with version 1.\n',
  });
  expect((await own.run('policy', 'list')).stdout).not.toContain('web');
  expect((await own.run('policy', 'list')).stdout).toContain('all');
});

test('a record that nobody can read is told, and can be deleted', async () => {
  const own = await ownLog();
  await own.log.publish([
    { topic: TOPICS.policies.name, key: 'broken', value: Buffer.from('{"no":1}'), headers: {} },
  ]);

  const { stderr } = await own.run('policy', 'list');
  expect(stderr).toMatch(
    /^warning: gc\.policies holds a record that cannot be read \(key "broken", partition 0, offset 0\): .*\. Nothing is removed on any node until it is applied anew, or deleted with fleetgc policy delete "broken"\.\n/,
  );
  expect(await own.run('policy', 'show', 'broken')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(
      /^fleetgc policy show: gc\.policies holds a record that cannot be read \(key "broken"/,
    ),
  });
  expect((await own.run('policy', 'delete', 'broken')).stdout).toBe('broken: deleted\n');
  expect((await own.run('policy', 'list')).stderr).not.toContain('broken');
});

test('half a character in a file is told with its place, and nothing is applied', async () => {
  const own = await ownLog();
  const file = join(temporaryDirectory(), 'half.yaml');
  writeFileSync(file, `${WEB}keep:\n  labels: {team: "\\ud800"}\n`);

  for (const run of [own.run('policy', 'apply', file), inProcess(['policy', 'validate', file])])
    expect(await run).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringMatching(
        /half\.yaml:\d+:\d+: keep\.labels\.team: must have no half characters \(lone surrogates.*\n/,
      ),
    });
});

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
    stderr: `Nodes stop as soon as they read this, and within 1m30s at the latest; a removal that has begun ends; fleetgc status says how many nodes it is for. This undoes it: fleetgc resume --log embedded --log-path ${own.path}\n`,
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
