import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { generateJsonSchemas } from '../../../../schemas/generate.ts';
import { candidate, owner, ownership } from '../../../fixtures/ownership.ts';
import { begun } from '../../../packages/audit/support/cluster-history.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { ownLog } from '../../fleetgc.ts';

const CLUSTERS =
  'kind: ClusterPolicy\nname: narrow\nmode: dry-run\ncollectors: [garbage-collector-controller]\nlimits: {cascade: 5}\n';

async function recorded(...policies: readonly string[]) {
  const log = begun();
  const cascades = [{ ownerUid: 'o', ownerKind: 'ConfigMap', objects: 10, ofKind: 10, within: null }];
  log.decide(
    ownership({ candidates: [candidate({ references: [owner('o', { state: 'gone' })], cascades })] }),
  );
  const own = await ownLog();
  await own.log.publish(log.records.map(({ key, ...record }) => ({ ...record, key: key ?? '' })));
  const file = join(temporaryDirectory(), 'policies.yaml');
  writeFileSync(file, policies.join('---\n'));
  return (...args: readonly string[]) => own.run('audit', 'simulate', '--policy', file, ...args);
}

test('policies for clusters are run over the facts of clusters', async () => {
  const run = await recorded(CLUSTERS);
  const { exitCode, stdout, stderr } = await run();
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toMatch(
    /^Simulated: narrow \([0-9a-f]{12}\)\nAgainst: {3}what happened\nOn 1 fact of 1 cluster\n/,
  );
  expect(stdout).toMatch(/\nConfigMap ns\/x +c1 +held \(S1\) +deleted \(D14\) /);
  const json = JSON.parse((await run('-o', 'json')).stdout);
  const schema: object = JSON.parse(generateJsonSchemas().get('cluster-simulation.schema.json') ?? '');
  expect(new Ajv2020({ strict: false }).validate(schema, json)).toBe(true);
  const lines = (await run('-o', 'ndjson')).stdout.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).part)).toEqual(['difference', 'summary']);
});

test('a cluster of which nothing is told is nothing to simulate', async () => {
  const run = await recorded(CLUSTERS);
  const { exitCode, stderr } = await run('--cluster', 'other');
  expect(exitCode).toBe(3);
  expect(stderr).toContain('no fact about the cluster other lies in that time');
});

test.each([
  [
    [CLUSTERS, 'name: nodes\nmode: dry-run\n'],
    [],
    'policies for nodes and for clusters: simulate them one after the other',
  ],
  [[CLUSTERS], ['--nodes', 'a'], 'policies for clusters hold on no node'],
  [['name: nodes\nmode: dry-run\n'], ['--cluster', 'c1'], '--cluster is for policies for clusters'],
])('policies %j with %j are refused', async (policies, args, says) => {
  const run = await recorded(...policies);
  const { exitCode, stderr } = await run(...args);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(says);
});
