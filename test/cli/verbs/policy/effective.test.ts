import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { inProcess, ownLog } from '../../fleetgc.ts';

const POLICIES =
  'name: web\nmode: enforce\nselector: {pools: [gpu]}\nkeep: {images: [registry.example/**]}\nevictionHard: {imagefs.available: 5%}\nmergeDefaultEvictionSettings: true\n---\nname: all\nmode: dry-run\npriority: -1\n';

function file(text: string): string {
  const path = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(path, text);
  return path;
}

const ask = (...options: readonly string[]) =>
  inProcess(['policy', 'effective', '--node', 'web-1', '--policy', file(POLICIES), ...options]);

test('of files, without an event log: what holds, every value with its origin, and why others do not', async () => {
  const { exitCode, stdout } = await ask('--cluster', 'prod', '--label', 'fleetgc.io/pool=gpu');

  expect(exitCode).toBe(0);
  expect(stdout).toMatch(
    /^Policy web \(enforce, profile fleetgc, priority 0\) holds for prod\/web-1; hash [0-9a-f]{64}\.\nIt is for pool gpu\.\n\nSETTING +VALUE +ORIGIN\n/,
  );
  expect(stdout).toMatch(/^mode +enforce +written, line 2$/m);
  expect(stdout).toMatch(/^imageGCHighThresholdPercent +85 +default of KubeletConfiguration$/m);
  expect(stdout).toMatch(/^maximumDeadContainers +-1 +default of the kubelet’s flag$/m);
  expect(stdout).toMatch(/^keep\.images +\["registry\.example\/\*\*"\] +written, line 4$/m);
  expect(stdout).toMatch(/^evictionHard\.imagefs\.available +5% +written, line 5$/m);
  expect(stdout).toMatch(
    /^evictionHard\.nodefs\.available +10% +default of KubeletConfiguration, merged in by mergeDefaultEvictionSettings, line 6$/m,
  );
  expect(stdout).toMatch(/^commandLifetime +1m +default of profile fleetgc$/m);
  expect(stdout).toMatch(/\nOTHER +PRIORITY +WHY IT DOES NOT HOLD\nall +-1 +lower priority than web\n$/);
});

test('without labels it says that they were not given', async () => {
  const { stdout, stderr } = await ask();

  expect(stdout).toMatch(/^Policy all /);
  expect(stdout).toMatch(/^web +0 +does not select: selector\.pools is gpu, the node has none$/m);
  expect(stderr).toBe('Which labels the node has is only known from --label, and none was given.\n');
});

test('for machines', async () => {
  const { stdout } = await ask('--label', 'fleetgc.io/pool=gpu', '-o', 'json');

  expect(JSON.parse(stdout)).toMatchObject({
    node: { cluster: '', node: 'web-1', nodeLabels: { 'fleetgc.io/pool': 'gpu' } },
    pausedBy: [],
    policy: {
      name: 'web',
      priority: 0,
      mode: 'enforce',
      profile: 'fleetgc',
      selector: { clusters: [], nodeNames: [], pools: ['gpu'], nodeLabels: {} },
      version: null,
      hash: expect.any(String),
    },
    settings: expect.arrayContaining([
      { setting: 'keep.images', value: ['registry.example/**'], origin: { kind: 'written', line: 4 } },
      {
        setting: 'evictionHard.nodefs.available',
        value: '10%',
        origin: { kind: 'kubelet-configuration', mergedByLine: 6 },
      },
    ]),
    otherPolicies: [{ name: 'all', priority: -1, reason: { kind: 'lower-priority', than: 'web' } }],
    otherPauses: [],
  });
});

test('of the event log, with its pauses and what nobody can read', async () => {
  const { run, log } = await ownLog();
  await run('policy', 'apply', file('name: here\nmode: enforce\nselector: {clusters: [local]}\n'));
  await run('pause', '--pool', 'gpu', '--reason', 'driver update');
  await run('pause', '--cluster', 'test');
  await log.publish([
    { topic: TOPICS.policies.name, key: 'broken', value: Buffer.from('{"no":1}'), headers: {} },
  ]);
  const { stdout, stderr } = await run(
    'policy',
    'effective',
    '--node',
    'n',
    '--label',
    'fleetgc.io/pool=gpu',
  );

  expect(stdout).toMatch(
    /^local\/n is paused with pool gpu \(driver update\): nothing is removed\.\nPolicy here \(enforce, profile fleetgc, priority 0\) would hold for local\/n; version 1, hash /,
  );
  expect(stdout).toMatch(
    /^pause of cluster test +does not select: selector\.clusters is test, the node has local$/m,
  );
  expect(stderr).toMatch(/^warning: gc\.policies holds a record that cannot be read \(key "broken"/);
});

test('no policy: everything is kept', async () => {
  const { run } = await ownLog();

  expect((await run('policy', 'effective', '--node', 'n')).stdout).toBe(
    'No policy selects local/n: everything is kept.\n',
  );
});

test('bad files are told as everywhere', async () => {
  const path = file('name: a\nmode: on\n');
  const { exitCode, stderr } = await inProcess(['policy', 'effective', '--node', 'n', '--policy', path]);

  expect(exitCode).toBe(2);
  expect(stderr).toContain('policy effective: 1 problem; nothing can be said of them\n');
});

test('without a node', async () => {
  expect(await inProcess(['policy', 'effective'])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('--node is missing'),
  });
});
