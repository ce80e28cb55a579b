import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadAllVerbs } from '../../../../cli/verbs.ts';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import { leftoverNames } from '../../../../packages/documents/cluster.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { census } from '../../../fixtures/census.ts';
import { diskStats } from '../../../fixtures/disk-stats.ts';
import { instant } from '../../../fixtures/time.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { publishWithPositions } from '../../../support/logs/positions.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { inProcess, type OwnLog } from '../../fleetgc.ts';
import { bury, deadLetter } from '../dead-letters/letters.ts';
import { rootedLog } from '../rooted-log.ts';

const POLICIES = `name: web
mode: dry-run
---
kind: ClusterPolicy
name: shop
mode: dry-run
`;

interface Listing {
  readonly own: OwnLog;
  readonly roots: string;
  readonly policies: string;
}

/** A log with one of everything that is listed. */
async function listing(): Promise<Listing> {
  const { own, file, certify } = await rootedLog();
  const policies = join(temporaryDirectory(), 'policies.yaml');
  writeFileSync(policies, POLICIES);
  await certify('ops', '--role', 'operator');
  expect(await own.run('policy', 'apply', policies)).toMatchObject({ exitCode: 0 });
  await publishWithPositions(own.log, [
    outgoing(nodeOutput('diskStats', diskStats({}, { takenAt: instant({ wallTimeMs: Date.now() }) }))),
    outgoing({ topic: 'clusterCensus', key: 'c1', event: census() }),
  ]);
  await bury(own.log, deadLetter());
  return { own, roots: file('roots.yaml'), policies };
}

/** How each verb that lists or shows objects is asked, and what the names are. */
const ASKED: Readonly<
  Record<string, { readonly args: (given: Listing) => readonly string[]; readonly names: RegExp }>
> = {
  nodes: { args: () => [], names: /^node\/prod\/web-1\n$/ },
  'policy list': { args: () => [], names: /^cluster\/shop\nweb\n$/ },
  'policy show': { args: () => ['cluster/shop'], names: /^cluster\/shop\n$/ },
  'policy effective': { args: () => ['--node', 'web-1', '--cluster', 'prod'], names: /^web\n$/ },
  'policy validate': { args: ({ policies }) => [policies], names: /^web\ncluster\/shop\n$/ },
  'policy apply': { args: ({ policies }) => [policies], names: /^web\ncluster\/shop\n$/ },
  'topics create': { args: () => [], names: new RegExp(`^${topicNames()}\n$`) },
  'topics check': { args: () => [], names: new RegExp(`^${topicNames()}\n$`) },
  'dead-letters list': { args: () => [], names: /^dead-letter-aaaa1\n$/ },
  'dead-letters show': { args: () => ['dead-letter-a'], names: /^dead-letter-aaaa1\n$/ },
  'keys list': { args: ({ roots }) => ['--trust-roots', roots], names: /^[0-9a-f]{32}\n[0-9a-f]{32}\n$/ },
  'cluster report': { args: () => [], names: /^c1\n$/ },
};

function topicNames(): string {
  return Object.values(TOPICS)
    .map(({ name }) => name.replaceAll('.', '\\.'))
    .join('\n');
}

/** It asks an API server; its names are tried below. */
const ASKS_API_SERVER = 'cluster leftovers';

test('every verb that gives names is tried here', async () => {
  const verbs = (await loadAllVerbs()).filter(({ options }) =>
    options.some(({ key, choices = [] }) => key === 'output' && choices.includes('wide')),
  );
  expect(verbs.map(({ name }) => name).toSorted()).toEqual(
    [...Object.keys(ASKED), ASKS_API_SERVER].toSorted(),
  );
});

const ofFile = (verb: string): boolean => verb === 'policy validate';

test.each(Object.entries(ASKED))('%s is printed in every format', async (verb, { args, names }) => {
  const given = await listing();
  const run = ofFile(verb) ? inProcess : (words: readonly string[]) => given.own.run(...words);
  const printed = async (...format: readonly string[]): Promise<string> => {
    const { exitCode, stdout } = await run([...verb.split(' '), ...args(given), ...format]);
    expect(exitCode).toBe(0);
    return stdout;
  };
  expect(withoutClock(parse(await printed('-o', 'yaml')))).toEqual(
    withoutClock(JSON.parse(await printed('-o=json'))),
  );
  expect(await printed('-oname')).toMatch(names);
  const [table, wide] = [await printed(), await printed('-o', 'wide')];
  expect(wide.split('\n')).toHaveLength(table.split('\n').length);
  expect(wide.length).toBeGreaterThanOrEqual(table.length);
});

/** Of what is read twice the times are not equal. */
const withoutClock = (document: unknown): unknown =>
  JSON.parse(JSON.stringify(document, (key, value: unknown) => (/^readAtMs$/.test(key) ? null : value)));

test.each([
  ['nodes', 'INSTANCE'],
  ['policy list', 'HASH'],
  ['keys list', 'CERTIFIED BY'],
  ['dead-letters list', 'POSITION'],
])('%s has more columns when it is wide: %s', async (verb, column) => {
  const given = await listing();
  const words = [...verb.split(' '), ...(ASKED[verb]?.args(given) ?? [])];
  expect((await given.own.run(...words)).stdout).not.toContain(column);
  expect((await given.own.run(...words, '-o', 'wide')).stdout).toContain(column);
});

test('where nothing is listed nothing is printed, and no empty line', async () => {
  const { own } = await rootedLog();
  for (const verb of ['nodes', 'policy list', 'dead-letters list'])
    for (const format of ['table', 'wide', 'name'])
      expect(await own.run(...verb.split(' '), '-o', format)).toMatchObject({ exitCode: 0, stdout: '' });
});

test('names of what is left over in a cluster, each once, as audit explain takes them', () => {
  const object = (kind: string, name: string, group = '') => ({
    ...{ group, kind, namespace: 'shop', name, uid: name },
    ...{ since: null, because: 'old' },
  });
  const reports = [
    { report: 'unnamed' as const, unread: [], objects: [object('ConfigMap', 'a'), object('Secret', 'b')] },
    {
      report: 'cron-job-histories' as const,
      unread: [],
      objects: [object('Job', 'c', 'batch'), object('ConfigMap', 'a')],
    },
  ];
  const takenAt = { serverMs: 0, spreadMs: 0 };
  expect(
    leftoverNames({ type: 'fleetgc.cluster-leftovers', version: 1, clusterInstance: 'x', takenAt, reports }),
  ).toEqual(['ConfigMap/shop/a', 'Secret/shop/b', 'batch/Job/shop/c']);
});

test('names of manifests are those that kubectl prints', async () => {
  expect((await inProcess(['notify', 'rbac', '-n', 'gc', '-o', 'name'])).stdout).toBe(
    'serviceaccount/fleetgc-notify\nrole.rbac.authorization.k8s.io/fleetgc-notify\nrolebinding.rbac.authorization.k8s.io/fleetgc-notify\n',
  );
});

test('-n is --namespace, also with its sign', async () => {
  const long = await inProcess(['notify', 'rbac', '--namespace', 'gc']);
  expect(long.stdout).toContain('namespace: gc');
  for (const args of [['-n', 'gc'], ['-n=gc'], ['-ngc']])
    expect(await inProcess(['notify', 'rbac', ...args])).toEqual(long);
});

const NO_OPTION = 'fleetgc: there is no option';
test.each([
  [
    'status -o name',
    'must be one of table, json, yaml, not "name": the answer of this verb is no list of objects',
  ],
  ['plan -o wide', 'must be one of table, json, yaml, ndjson, not "wide": the answer of this verb'],
  ['nodes -o jsonpath={.nodes}', 'FleetGC has no templates; take -o json, and jq for a part of it'],
  ['nodes -o custom-columns=A:.b', 'FleetGC has no templates; take -o json, and jq for a part of it'],
  ['pause -o json', `${NO_OPTION} -o: this verb prints in one form alone; see fleetgc pause --help`],
  ['pause -ojson', `${NO_OPTION} -o: this verb prints in one form alone; see fleetgc pause --help`],
  ['policy list -n shop', `${NO_OPTION} -n: what this verb tells of is in no namespace, or of all of them`],
  ['nodes --namespace=shop', `${NO_OPTION} --namespace: what this verb tells of is in no namespace`],
  ['cluster plan -A', `${NO_OPTION} -A: what is in namespaces is always shown of all of them`],
  ['cascade Pod/x --all-namespaces', `${NO_OPTION} --all-namespaces: name one namespace with -n`],
  ['status --context x', `${NO_OPTION} --context: this verb asks no API server, and the event log has no`],
])('fleetgc %s says what there is', async (line, says) => {
  const { exitCode, stdout, stderr } = await inProcess(line.split(' '));
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toContain(says);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
});

test('what stands behind two dashes is no option', async () => {
  const { stderr } = await inProcess(['policy', 'validate', '--', '-o=json']);
  expect(stderr).toContain('-o=json');
});

test('the plugin prints the same', async () => {
  const args = ['notify', 'rbac', '-n', 'gc', '-o', 'name'];
  expect(await inProcess(args, { KUBECTL_PLUGIN_FLEETGC: '1' })).toEqual(await inProcess(args));
});
