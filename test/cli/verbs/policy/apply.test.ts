import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { PolicyRecord } from '../../../../schemas/policy/policy.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { inProcess, ownLog } from '../../fleetgc.ts';
import { jsonOf, readTopic } from '../../read-topic.ts';
import { apply, WEB } from './apply-text.ts';

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

test('apply says what a selector means that has a condition no more', async () => {
  const own = await ownLog();
  await apply(
    own,
    'name: web\nmode: enforce\nselector: {clusters: [prod], nodeNames: ["db-*"], pools: [gpu], nodeLabels: {a: b}}\n',
  );
  const { stdout } = await apply(own, 'name: web\nmode: enforce\n');

  expect(stdout.split('\n').slice(1)).toEqual([
    '  selector.clusters: ["prod"] to [] (every cluster)',
    '  selector.nodeNames: ["db-*"] to [] (every node)',
    '  selector.pools: ["gpu"] to [] (every pool)',
    '  selector.nodeLabels: {"a":"b"} to {} (any labels)',
    '',
  ]);
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
