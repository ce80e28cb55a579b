import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { inProcess, ownLog } from '../../fleetgc.ts';
import { WEB } from './apply-text.ts';

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;
const FOR_CLUSTERS = `kind: ClusterPolicy
name: web
mode: enforce
collectors: [garbage-collector-controller]
selector: { clusters: [prod] }
`;

function fileOf(text: string): string {
  const path = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(path, text);
  return path;
}

test('policies of both kinds are applied, listed, shown and deleted, and one of the same name stays as it is', async () => {
  const own = await ownLog();
  const file = fileOf(`${WEB}---\n${FOR_CLUSTERS}`);
  expect((await own.run('policy', 'apply', file)).stdout).toBe(
    'web: created as version 1, enforce on cluster prod\ncluster/web: created as version 1, enforce on cluster prod\n',
  );
  expect((await own.run('policy', 'apply', file)).stdout).toBe(
    'web: unchanged, version 1\ncluster/web: unchanged, version 1\n',
  );
  expect((await own.run('policy', 'list')).stdout.replaceAll(TIME, '<the time of applying>')).toBe(
    [
      'NAME   VERSION   MODE      PRIORITY   IMAGES       APPLIED                NODES',
      'web    1         enforce   0          85% to 80%   <the time of applying>   cluster prod',
      '',
      'NAME          VERSION   MODE      PRIORITY   COLLECTORS                     APPLIED                CLUSTERS',
      'cluster/web   1         enforce   0          garbage-collector-controller   <the time of applying>   cluster prod',
      '',
    ].join('\n'),
  );
  const { stdout } = await own.run('policy', 'show', 'cluster/web');
  expect(stdout).toContain('kind: ClusterPolicy\nname: web\n');
  expect(stdout).toContain('limits:\n  cascade: 1000\n  cascadeOfKind: 5000\n  removalsPerHour: 10000\n');
  expect((await own.run('policy', 'apply', fileOf(stdout))).stdout).toBe(
    'cluster/web: unchanged, version 1\n',
  );
  expect((await own.run('policy', 'delete', 'cluster/web')).stdout).toBe('cluster/web: deleted\n');
  expect((await own.run('policy', 'show', 'web')).stdout).toContain('name: web\n');
  expect(await own.run('policy', 'show', 'cluster/web')).toMatchObject({ exitCode: 1 });
});

test('a policy for clusters that is asked for by its name alone is suggested', async () => {
  const own = await ownLog();
  await own.run('policy', 'apply', fileOf(FOR_CLUSTERS));
  expect((await own.run('policy', 'show', 'web')).stderr).toContain(
    'there is no policy named web; did you mean cluster/web?',
  );
});

test('changed settings are told with their sections', async () => {
  const own = await ownLog();
  await own.run('policy', 'apply', fileOf(FOR_CLUSTERS));
  const changed = fileOf(`${FOR_CLUSTERS}limits: { cascade: 10 }\nkeep: { namespaces: [kube-system] }\n`);
  expect((await own.run('policy', 'apply', changed)).stdout).toBe(
    [
      'cluster/web: changed, version 2',
      '  limits.cascade: 1000 to 10',
      '  keep.namespaces: [] to ["kube-system"]',
      '',
    ].join('\n'),
  );
});

test('validate shows policies of both kinds, and needs no log', async () => {
  const { stdout } = await inProcess(['policy', 'validate', fileOf(`${FOR_CLUSTERS}---\n${WEB}`)]);
  expect(stdout).toBe(
    [
      'NAME   MODE      PRIORITY   IMAGES       NODES',
      'web    enforce   0          85% to 80%   cluster prod',
      '',
      'NAME          MODE      PRIORITY   COLLECTORS                     CLUSTERS',
      'cluster/web   enforce   0          garbage-collector-controller   cluster prod',
      '',
    ].join('\n'),
  );
});
