import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import { openEmbeddedLog } from '../../../packages/log/embedded.ts';
import { ClusterCommand } from '../../../schemas/events/cluster-command.ts';
import { ClusterDecision } from '../../../schemas/events/cluster-decision.ts';
import { ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import { TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import { silentContext } from '../../packages/log/probe.ts';
import { createNetwork, type TestNetwork } from '../../support/network.ts';
import { type ApiServer, startApiServer } from '../../support/nodes/api-server.ts';
import { ClusterAccounts } from '../../support/nodes/cluster-account.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { inProcess } from '../fleetgc.ts';
import { jsonOf, readTopic } from '../read-topic.ts';
import { BOUND_MS, type SpawnedVerb, spawnVerb } from '../service-process.ts';

const TOPIC_IDS = Object.keys(TOPICS).filter((id): id is TopicId => id in TOPICS);

interface JobSpec {
  readonly selector: object;
  readonly template: { readonly spec: object };
}

/** From the start of the program to its last write. */
const COLLECTED_MS = 40_000;

let network: TestNetwork;
let server: ApiServer;
let connection: ApiConnection;
let accounts: ClusterAccounts;
/** Of the account that has what `cluster rbac` prints, and nothing else. */
let kubeconfig: string;

beforeAll(async () => {
  network = await createNetwork();
  server = await startApiServer(network);
  accounts = new ClusterAccounts(server);
  connection = accounts.connection(accounts.admin);
  kubeconfig = await accounts.account('run');
  await post('/api/v1/namespaces', { kind: 'Namespace', metadata: { name: 'other' } });
});
afterAll(async () => {
  accounts?.[Symbol.dispose]();
  connection?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
  await network?.[Symbol.asyncDispose]();
});

/** Resolves to the uid of the object that was made. */
async function post(path: string, object: object): Promise<string> {
  const body = JSON.stringify({ apiVersion: 'v1', ...object });
  const answer = await connection.call({ method: 'POST', path, body });
  expect(answer.status, answer.body).toBe(201);
  return JSON.parse(answer.body).metadata.uid;
}

interface Owner {
  readonly name: string;
  readonly uid: string;
  readonly blockOwnerDeletion?: boolean;
}

interface Made {
  readonly kind?: 'ConfigMap' | 'Secret';
  readonly namespace?: string;
  readonly owners?: readonly Owner[];
  readonly finalizers?: readonly string[];
}
const pathOf = ({ kind = 'ConfigMap', namespace = 'default' }: Made = {}): string =>
  `/api/v1/namespaces/${namespace}/${kind.toLowerCase()}s`;

async function made(name: string, given: Made = {}): Promise<Owner> {
  const { kind = 'ConfigMap', owners = [], finalizers = [] } = given;
  const ownerReferences = owners.map((owner) => ({ apiVersion: 'v1', kind: 'ConfigMap', ...owner }));
  return { name, uid: await post(pathOf(given), { kind, metadata: { name, ownerReferences, finalizers } }) };
}

const remove = (name: string, propagationPolicy: string) =>
  connection.call({
    method: 'DELETE',
    path: `${pathOf()}/${name}`,
    body: JSON.stringify({ propagationPolicy }),
  });

/** The metadata of an object; `null` for one that is not there. */
async function there(name: string, given?: Made) {
  const { status, body } = await connection.call({ method: 'GET', path: `${pathOf(given)}/${name}` });
  return status === 404 ? null : JSON.parse(body).metadata;
}
const isGone = async (name: string): Promise<boolean> => (await there(name)) === null;

/** The program as a user starts it, with a log of its own or that of an earlier run. */
function startRun(
  policy: object,
  earlierLog?: string,
): { readonly running: SpawnedVerb; readonly logPath: string } {
  const directory = temporaryDirectory();
  const file = join(directory, 'policy.yaml');
  writeFileSync(file, stringify({ kind: 'ClusterPolicy', name: 'clusters', ...policy }));
  const logPath = earlierLog ?? join(directory, 'log.db');
  const running = spawnVerb(
    ...['cluster', 'run', '--cluster', 'c1', '--kubeconfig', kubeconfig],
    ...['--policy', file, '--log-path', logPath],
  );
  return { running, logPath };
}
const OURS = { collectors: ['garbage-collector-controller'] };

async function eventsOf(logPath: string, topic: TopicId): Promise<readonly unknown[]> {
  await using log = await openEmbeddedLog(
    { path: logPath, maxBytes: 2 ** 30, leavesRetention: true },
    silentContext(),
  );
  return (await readTopic(log, TOPICS[topic].name)).map(jsonOf);
}
const decisionsOn = async (logPath: string): Promise<readonly ClusterDecision[]> =>
  (await eventsOf(logPath, 'clusterDecisions')).map((event) => ClusterDecision.parse(event));
const rulesOn = async (logPath: string): Promise<readonly string[]> =>
  (await decisionsOn(logPath)).flatMap(({ verdicts }) =>
    verdicts.map(({ action, rule }) => `${action} ${rule}`),
  );

async function verified(logPath: string) {
  return await inProcess(['audit', 'verify', '--threads', '1', '--log', 'embedded', '--log-path', logPath]);
}

test('[cluster D14, S1] in a dry run, and where a cascade is too wide, nothing goes', async () => {
  const owner = await made('wide');
  for (const name of ['w1', 'w2', 'w3']) await made(name, { owners: [owner] });
  await remove('wide', 'Background');
  const dry = startRun({ mode: 'dry-run', ...OURS });
  await waitUntil('the dry run to tell', COLLECTED_MS, () =>
    dry.running.output.stdout.includes('but this is a dry run'),
  );
  await waitUntil('the census to be told', COLLECTED_MS, () =>
    dry.running.output.stdout.includes('? 3 references leading nowhere'),
  );
  const report = await inProcess(['cluster', 'report', '--log', 'embedded', '--log-path', dry.logPath]);
  expect([report.exitCode, report.stderr]).toEqual([0, '']);
  expect(report.stdout).toContain('ConfigMap default/w1: ConfigMap wide, which is not there');
  expect(report.stdout).toMatch(/ConfigMap wide \([0-9a-f-]+\): at most 3 objects depended on it/);
  expect(dry.running.output.stdout).toContain('Policy clusters: dry-run. Nothing will be removed.');
  expect(await dry.running.terminate()).toBe(0);
  expect(new Set(await rulesOn(dry.logPath))).toEqual(new Set(['delete D14']));
  expect(await eventsOf(dry.logPath, 'clusterCommands')).toEqual([]);

  const narrow = startRun({ mode: 'enforce', ...OURS, limits: { cascade: 2 } });
  await waitUntil('the hold to be told', COLLECTED_MS, () =>
    narrow.running.output.stdout.includes('graph-gc holds 3 ConfigMap (default/w1, default/w2, default/w3)'),
  );
  expect(await narrow.running.terminate()).toBe(0);
  expect(new Set(await rulesOn(narrow.logPath))).toEqual(new Set(['hold S1']));
  for (const name of ['w1', 'w2', 'w3']) expect(await there(name)).not.toBeNull();
  expect(await verified(narrow.logPath)).toMatchObject({ exitCode: 0 });
});

test('[cluster S1, S7] what is held goes by the command that is printed, and only it, over restarts too', async () => {
  const owners = [await made('held-1'), await made('held-2')];
  for (const [number, owner] of owners.entries())
    for (const name of ['a', 'b', 'c']) await made(`h${number}-${name}`, { owners: [owner] });
  for (const { name } of owners) await remove(name, 'Background');
  const policy = { mode: 'enforce', ...OURS, limits: { cascade: 2 } };
  const first = startRun(policy);
  const log = ['--log', 'embedded', '--log-path', first.logPath];
  const heldNow = async (): Promise<string> => (await inProcess(['held', '--cluster', 'c1', ...log])).stdout;
  const [one, two] = owners.map(({ uid }) => uid);
  await waitUntil('both to be held', COLLECTED_MS, async () => {
    const told = await heldNow();
    return told.includes(`(${one})`) && told.includes(`(${two})`);
  });
  expect(await first.running.terminate()).toBe(0);

  const again = startRun(policy, first.logPath);
  const printed = (await heldNow())
    .match(/fleetgc (approve c1 .*)/g)
    ?.find((line) => line.includes(`${one}`));
  const [mark = 'no mark of what is shown'] = /(?<=--shown )[0-9a-f]{16}/.exec(printed ?? '') ?? [];
  expect(printed).toBe(`fleetgc approve c1 ${one} --objects 3 --shown ${mark} ${log.join(' ')}`);
  const approved = await inProcess((printed ?? '').split(' ').slice(1));
  expect([approved.exitCode, approved.stdout]).toEqual([
    0,
    expect.stringContaining(
      `approved: owner ConfigMap default/held-1 (${one}) in cluster c1, 3 objects, until `,
    ),
  ]);
  await waitUntil('what was approved to go', COLLECTED_MS, async () => {
    const gone = await Promise.all(['a', 'b', 'c'].map((name) => isGone(`h0-${name}`)));
    return gone.every((each) => each);
  });
  expect(await again.running.terminate()).toBe(0);
  for (const name of ['a', 'b', 'c']) expect(await there(`h1-${name}`)).not.toBeNull();
  const left = await heldNow();
  expect(left).toContain(`fleetgc approve c1 ${two} --objects 3`);
  expect(left).not.toContain(`approve c1 ${one}`);
  // What other tests left behind in this cluster is held, too.
  const heldObjects = [...left.matchAll(/(\d+) objects? held since/g)].reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  );
  expect(heldObjects).toBeGreaterThanOrEqual(3);
  expect((await inProcess(['status', ...log])).stdout).toMatch(
    new RegExp(`^c1 +\\S+ ago +clusters +enforce +${heldObjects} +\\S+ +1 +held`, 'm'),
  );
  const explained = await inProcess(['audit', 'explain', 'ConfigMap/default/h0-a', ...log]);
  expect([explained.exitCode, explained.stderr]).toEqual([0, '']);
  expect(explained.stdout).toContain(`: deleted by FleetGC, since nobody owns it any more (D14).`);
  for (const line of [
    /Z +candidate +owner ConfigMap held-1 \(\S+\) /,
    /Z +held +too much would go with it \(S1: /,
    /Z +to go +delete it: nobody owns it any more \(D14: .*approvals /,
    /Z +removed +deleted by FleetGC \(D14\); owner \S+ was not there/,
  ])
    expect(explained.stdout).toMatch(line);
  const told = (await inProcess(['audit', 'report', ...log])).stdout;
  expect(told).toMatch(
    /\| `c1` \| `ConfigMap` \| garbage-collector-controller \| nobody owns it any more \| D14 \| 3 \|/,
  );
  expect(told).toContain('owner ConfigMap default/held-1');
  const withdrawn = await inProcess(['approve', 'c1', `${one}`, '--withdraw', ...log]);
  expect([withdrawn.exitCode, withdrawn.stdout]).toEqual([
    0,
    expect.stringMatching(/^withdrawn: owner ConfigMap/),
  ]);
  expect(await verified(first.logPath)).toMatchObject({ exitCode: 0 });
});

test('[cluster D10, D14, D17, E1, E3, S4] what owners leave behind goes, and nothing else; and the log proves it', async () => {
  const owner = await made('owner');
  const dependent = await made('d1', { owners: [owner] });
  await made('d2', { owners: [owner] });
  await made('d3', { owners: [dependent] });
  const other = await made('other-owner');
  await made('shared', { owners: [owner, other] });
  await made('copied', { kind: 'Secret', namespace: 'other', owners: [owner] });
  const { running, logPath } = startRun({ mode: 'enforce', ...OURS });
  // A copy is known as one for as long as its owner is there, or was seen to go.
  await waitUntil('the copy to be kept', COLLECTED_MS, async () =>
    (await rulesOn(logPath)).includes('keep S4'),
  );
  await remove('owner', 'Background');
  await waitUntil('the dependents to go', COLLECTED_MS, async () => {
    return (await isGone('d1')) && (await isGone('d2')) && (await isGone('d3'));
  });
  await waitUntil('the shared one to lose a reference', COLLECTED_MS, async () => {
    const { ownerReferences } = await there('shared');
    return ownerReferences.length === 1 && ownerReferences[0].uid === other.uid;
  });

  const orphaning = await made('orphaning');
  await made('child', { owners: [orphaning] });
  await remove('orphaning', 'Orphan');
  await waitUntil('the orphaning owner to go', COLLECTED_MS, () => isGone('orphaning'));
  expect((await there('child')).ownerReferences).toBeUndefined();

  const waiting = await made('waiting');
  await made('blocker', { owners: [{ ...waiting, blockOwnerDeletion: true }] });
  await remove('waiting', 'Foreground');
  await waitUntil('the waiting owner to go', COLLECTED_MS, () => isGone('waiting'));
  expect(await isGone('blocker')).toBe(true);

  expect(await there('copied', { kind: 'Secret', namespace: 'other' })).not.toBeNull();
  expect(await there('other-owner')).not.toBeNull();
  await waitUntil('the last result to be told', BOUND_MS, () =>
    running.output.stdout.includes('ConfigMap default/waiting: finalizer taken away (D17)'),
  );
  expect(await running.terminate()).toBe(0);
  await expectProof(logPath);
});

async function expectProof(logPath: string): Promise<void> {
  const decisions = await decisionsOn(logPath);
  const rules = new Set(await rulesOn(logPath));
  for (const rule of ['delete D14', 'drop-references D11', 'drop-references E1', 'finish E3', 'finish D17'])
    expect(rules).toContain(rule);
  expect(rules).toContain('keep S4');
  const commands = (await eventsOf(logPath, 'clusterCommands')).map((event) => ClusterCommand.parse(event));
  expect(commands.map(({ decisionId }) => decisionId).toSorted()).toEqual(
    decisions.flatMap(({ id, outcome }) => (outcome === 'commanded' ? [id] : [])).toSorted(),
  );
  const told = (await eventsOf(logPath, 'clusterResults')).flatMap(
    (event) => ClusterObjectResults.safeParse(event).data?.objects ?? [],
  );
  const outcomes = new Map(told.map(({ object: { name }, result }) => [name, result.outcome]));
  for (const name of ['d1', 'd2', 'd3']) expect(outcomes.get(name)).toBe('removed');
  expect(outcomes.get('shared')).toBe('patched');
  expect(outcomes.has('copied')).toBe(false);
  const { exitCode, stdout, stderr } = await verified(logPath);
  expect([exitCode, stderr], stdout).toEqual([0, '']);
  expect(stdout).toMatch(new RegExp(`^ *${decisions.length} +of them came out the same again$`, 'm'));
}

const WIDGETS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};

test('[cluster I7] a kind that is installed later is told with the rule that is missing, and collected with it', async () => {
  await server.apply([WIDGETS]);
  const path = '/apis/example.com/v1/namespaces/default/widgets';
  const owner = await made('owner-of-widget');
  const widget = {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'w', ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', ...owner }] },
  };
  await waitUntil('widgets to be served', COLLECTED_MS, async () => {
    return (await connection.call({ method: 'POST', path, body: JSON.stringify(widget) })).status === 201;
  });
  const { running } = startRun({ mode: 'enforce', ...OURS });
  await waitUntil('the missing rule to be told', COLLECTED_MS, () =>
    running.output.stderr.includes(
      'example.com/Widget, which cannot be read: the role lacks the rule {"apiGroups":["example.com"],"resources":["widgets"],"verbs":["list","watch"]}',
    ),
  );
  await remove('owner-of-widget', 'Background');
  await accounts.account('run');
  await waitUntil('the widget to go', 2 * COLLECTED_MS, async () => {
    return (await connection.call({ method: 'GET', path: `${path}/w` })).status === 404;
  });
  expect(await running.terminate()).toBe(0);
});

test('what is deleted under undo: manifest is printed, and the API server takes it again as it was; of a Secret nothing is on the log', async () => {
  const owner = await made('undone');
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', ...owner }];
  const metadata = { name: 'undone-map', labels: { app: 'x', on: 'no' }, ownerReferences };
  const data = { plain: 'no', lines: 'a\n  b\n\n', number: '0123', empty: '', odd: '\u202e\t\u001b' };
  await post(pathOf(), { kind: 'ConfigMap', metadata, data });
  const password = 'correct horse battery staple';
  const secret = {
    kind: 'Secret',
    metadata: { ...metadata, name: 'undone-secret' },
    stringData: { password },
  };
  await post(pathOf({ kind: 'Secret' }), secret);
  const template = {
    metadata: { labels: { app: 'job' } },
    spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'registry.example/c:1' }] },
  };
  const jobs = '/apis/batch/v1/namespaces/default/jobs';
  const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { ...metadata, name: 'undone-job' } };
  await post(jobs, { ...job, spec: { suspend: true, template } });
  const paths = [
    `${pathOf()}/undone-map`,
    `${pathOf({ kind: 'Secret' })}/undone-secret`,
    `${jobs}/undone-job`,
  ];
  const live = async (path: string) => {
    const { status, body } = await connection.call({ method: 'GET', path });
    return status === 200 ? JSON.parse(body) : null;
  };
  const before = await Promise.all(paths.map(live));
  await remove('undone', 'Background');
  const { running, logPath } = startRun({ mode: 'enforce', undo: 'manifest', ...OURS });
  await waitUntil('all of them to go', COLLECTED_MS, async () =>
    (await Promise.all(paths.map(live))).every((object) => object === null),
  );
  expect(await running.terminate()).toBe(0);
  const { exitCode, stdout, stderr } = await inProcess([
    ...['undo', 'c1', '--owner', owner.uid, '--log', 'embedded', '--log-path', logPath],
  ]);
  expect(exitCode, stderr).toBe(0);
  expect(stderr).toContain('Not printed: Secret default/undone-secret: what is secret is never saved.');
  const documents = parseAllDocuments(stdout).map((document) => document.toJS());
  for (const document of documents) await post(document.kind === 'Job' ? jobs : pathOf(), document);
  const [map, , ran] = await Promise.all(paths.map(live));
  expect([map.data, map.metadata.labels]).toEqual([before[0].data, before[0].metadata.labels]);
  expect(map.metadata.ownerReferences).toBeUndefined();
  const withoutUid = ({ spec: { selector: _, template: made, ...spec } }: { readonly spec: JobSpec }) => ({
    ...spec,
    template: made.spec,
  });
  expect(withoutUid(ran)).toEqual(withoutUid(before[2]));
  const records = await Promise.all(TOPIC_IDS.map((topic) => eventsOf(logPath, topic)));
  const text = JSON.stringify(records);
  expect(text).toContain('undone-secret');
  for (const told of [password, Buffer.from(password).toString('base64')]) {
    expect(text).not.toContain(told);
    expect(readFileSync(logPath).includes(told)).toBe(false);
  }
  const proof = await verified(logPath);
  expect([proof.exitCode, proof.stderr], proof.stdout).toEqual([0, '']);
});
