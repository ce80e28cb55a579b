import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { tableLines } from '../../../packages/documents/text.ts';
import { ROLES, rightsOf } from '../../../packages/log/access/access-rules.ts';
import { openKafkaLog } from '../../../packages/log/kafka.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { type Ended, fleetgc } from '../../cli/fleetgc.ts';
import { ConfigMaps } from '../../e2e/support/cluster/config-maps.ts';
import { silentContext } from '../../packages/log/probe.ts';
import { type HttpReceiver, httpReceiver } from '../../services/notices/support/http-receiver.ts';
import type { TokenOptions } from '../../support/kafka/bearer-tokens.ts';
import { createNetwork } from '../../support/network.ts';
import { type ApiServer, startApiServer, TestManifest } from '../../support/nodes/api-server.ts';
import { patiently } from '../../support/patience.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { REPOSITORY, textOf } from '../files.ts';
import { type ServiceProcess, startService } from '../service-process.ts';
import { Intruder } from './attempts.ts';
import { type Attempt, attemptsOf, type Login } from './attempts-of.ts';
import { allowedIn, deniedIn } from './authorizer-log.ts';
import { type GuardedFleet, PREFIX, PRINCIPALS, settingsOf, startGuardedFleet, type Who } from './logins.ts';
import { SignedInPage } from './signed-in-page.ts';

const REMOVED_MS = 90_000;
const BOUND_MS = patiently(120_000);
const POLICY = join(REPOSITORY, 'deploy/compose/policy.yaml');
const NODE = 'test/node-1';
const ROLE_FLAGS = ROLES.flatMap((role) => [`--${role}-principal`, PRINCIPALS[role]]);
const RULES = ROLES.flatMap((role) => rightsOf(role));

let fleet: GuardedFleet;
beforeAll(async () => {
  fleet = await startGuardedFleet();
});
afterAll(() => fleet?.[Symbol.asyncDispose]());

const as = (who: Who, ...args: readonly string[]): Promise<Ended> =>
  fleetgc(args, { environment: fleet.environments[who] });

/** It must end well; what it printed. */
async function done(who: Who, ...args: readonly string[]): Promise<string> {
  const ended = await as(who, ...args);
  expect(ended, `${who}: fleetgc ${args.join(' ')}`).toMatchObject({ exitCode: 0 });
  expect(ended.stderr, `${who}: fleetgc ${args.join(' ')}`).not.toMatch(/uthoriz|may not/);
  return ended.stdout;
}

test('the rules are added by the administrator, once, and by nobody else', async () => {
  const apply = ['topics', 'acls', '--apply', ...ROLE_FLAGS];
  const refused = await as('operator', ...apply);
  expect(refused).toMatchObject({ exitCode: 1, stdout: '' });
  expect(refused.stderr).toMatch(/this login may not read or add access rules.+an administrator of Kafka/);

  const states = async (...more: readonly string[]): Promise<readonly string[]> => {
    const rules: readonly { readonly state: string }[] = JSON.parse(
      await done('administrator', ...apply, '-o', 'json', ...more),
    );
    expect(rules).toHaveLength(RULES.length);
    return [...new Set(rules.map(({ state }) => state))];
  };
  expect(await states('--dry-run')).toEqual(['missing']);
  expect(await states()).toEqual(['added']);
  expect(await states()).toEqual(['there already']);
});

test('the whole pipeline runs with these rules alone', { timeout: BOUND_MS }, async () => {
  await done('operator', 'topics', 'create');
  await done('operator', 'topics', 'check');
  const { trusted, keyOf, signedBy } = await setUpKeys();
  await done('operator', 'policy', 'apply', POLICY, ...signedBy('operator'));
  const { environments, tokenServer } = fleet;
  await using decide = await startService(['decide', ...signedBy('decider')], environments.decider);
  const receiver = await httpReceiver();
  const notices = ['notify', '--rules', rulesFile(receiver), ...required(trusted)];
  await using notify = await startService(notices, environments.notifier);
  const simulated = ['simulate-node', '--cluster', 'test', '--node-name', 'node-1', ...required(trusted)];
  await using node = await startService(simulated, environments.node);
  await waitUntil('the node to remove an image', REMOVED_MS, async () =>
    /^fleetgc_executor_objects_total\{kind="image",outcome="removed"\} [1-9]/m.test(await node.metrics()),
  );
  await waitUntil('its results to be on the log', REMOVED_MS, async () =>
    /^fleetgc_executor_results_unpublished 0$/m.test(await node.metrics()),
  );
  await done('operator', 'pause', '--cluster', 'test', ...signedBy('operator'));
  await done('operator', 'resume', '--all', ...signedBy('operator'));
  await using page = await SignedInPage.start(signedBy('dashboard'), environments.dashboard);
  await pageWorks(page, trusted);
  expect((await as('dashboard', 'policy', 'delete', 'demo', ...signedBy('dashboard'))).stderr).toContain(
    'the key of a dashboard signed it',
  );
  await waitUntil('people to be told of the removal and of the pause', REMOVED_MS, () =>
    ['.removed.v1', '.paused.v1'].every((type) => receiver.received.some(({ body }) => body.includes(type))),
  );
  await using cluster = await clusterWorks(signedBy);
  await using policies = await policiesWork(cluster.server, signedBy, trusted);
  await onlookersWork('reader', trusted);
  await onlookersWork('operator', trusted);
  // Its page asks by the functions of these verbs.
  await onlookersWork('dashboard', trusted);
  const archive = join(temporaryDirectory(), 'archive');
  await headsWork({ decide, trusted, archive, archiverKey: keyOf('archiver') });
  const following = ['audit', 'archive', '--follow', '--every', '10s', '--to', archive];
  await using again = await startService(['decide', ...signedBy('decider')], environments.decider);
  await using follower = await startService(following, environments.archiver);
  await deadLettersWork();
  const letters = join(archive, 'records', `topic=${TOPICS.deadLetters.name}`);
  await waitUntil('the archiver to keep dead letters', REMOVED_MS, () => existsSync(letters));
  await waitUntil('deciders to outlive their tokens', REMOVED_MS, () => tokenServer.given() > 3);
  for (const service of [
    again,
    node,
    follower,
    notify,
    page.service,
    ...cluster.services,
    policies.controller,
  ]) {
    const readiness = await service.readiness();
    expect(readiness, `${readiness.text}\n${service.output()}`).toMatchObject({ ready: true });
    expect(service.output()).not.toMatch(NOT_LET);
  }
  await done('operator', 'policy', 'delete', 'demo', ...signedBy('operator'));
  await waitUntil('the node to follow the policy of its cluster', REMOVED_MS, async () =>
    (await done('reader', 'nodes', ...trusted)).includes(OBJECT_POLICY),
  );
});

const OBJECT_POLICY = 'test..all';

/** A policy that lies in a cluster as an object comes to the event log, where it gives way to that of the fleet. */
async function policiesWork(
  server: ApiServer,
  signedBy: (role: Signer) => readonly string[],
  trusted: readonly string[],
) {
  await using stack = new AsyncDisposableStack();
  const kubeconfig = join(temporaryDirectory(), 'kubeconfig');
  writeFileSync(kubeconfig, stringify(server.localKubeconfig));
  const definition = TestManifest.parse(parse(textOf(DEFINITION)));
  await server.apply([definition]);
  const object = {
    apiVersion: 'fleetgc.io/v1alpha1',
    kind: 'GarbageCollectionPolicy',
    metadata: { name: 'all' },
    spec: { mode: 'enforce' },
  };
  await waitUntil('the kind to be served', REMOVED_MS, () =>
    server.apply([object]).then(
      () => true,
      () => false,
    ),
  );
  const args = ['--cluster', 'test', '--kubeconfig', kubeconfig, '--count-nodes-every', '10s'];
  const controller = stack.use(
    await startService(
      ['policy-controller', ...args, ...signedBy('policy-controller')],
      fleet.environments['policy-controller'],
    ),
  );
  await waitUntil('the policy to be on the event log', REMOVED_MS, async () =>
    /^fleetgc_policy_controller_changes_total\{change="applied"\} 1$/m.test(await controller.metrics()),
  );
  const listed = JSON.parse(await done('reader', 'policy', 'list', '-o', 'json', ...trusted));
  expect(JSON.stringify(listed.policies)).toContain(OBJECT_POLICY);
  const owned = stack.move();
  return { controller, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const DEFINITION = 'deploy/helm/fleetgc/files/garbage-collection-policies.yaml';

const TEST = { clusters: ['test'], nodeNames: [], pools: [], nodeLabels: {} };

/** Whoever signed in as an operator pauses and resumes, in their name and with its key; nobody else does. */
async function pageWorks(page: SignedInPage, trusted: readonly string[]): Promise<void> {
  await waitUntil('the page to find the node', REMOVED_MS, async () =>
    (await page.finds('node-1')).includes(NODE),
  );
  expect(await page.act('nobody', 'pause', TEST)).toMatchObject({ status: 401 });
  expect(await page.act('bob', 'pause', TEST)).toMatchObject({ status: 403 });
  const pauses = async (): Promise<unknown> =>
    JSON.parse(await done('reader', 'policy', 'list', '-o', 'json', ...trusted)).pauses;
  expect(await pauses()).toEqual([]);
  expect(await page.act('ann', 'pause', TEST), page.service.output()).toEqual({
    status: 200,
    text: 'paused: cluster test',
  });
  expect(await pauses()).toMatchObject([{ by: 'ann (dashboard, token)', reason: 'by the page' }]);
  expect(await page.act('ann', 'resume', TEST)).toEqual({ status: 200, text: 'resumed' });
  expect(await pauses()).toEqual([]);
}

/** Agent and executor of a cluster, where an owner left something behind and a Job has ended. */
async function clusterWorks(signedBy: (role: Signer) => readonly string[]) {
  await using starting = new AsyncDisposableStack();
  const stack = starting.use(new AsyncDisposableStack());
  const network = stack.use(await createNetwork());
  const server = stack.use(await startApiServer(network));
  const file = (name: string, content: unknown): string => {
    const path = join(temporaryDirectory(), name);
    writeFileSync(path, stringify(content));
    return path;
  };
  const kubeconfig = file('kubeconfig', server.localKubeconfig);
  const policy = file('policy.yaml', CLUSTER_POLICY);
  await done('operator', 'policy', 'apply', policy, ...signedBy('operator'));
  const ofCluster = ['--cluster', CLUSTER, '--kubeconfig', kubeconfig, ...signedBy('cluster')];
  const state = ['--state-directory', temporaryDirectory()];
  const { cluster } = fleet.environments;
  const start = async () => ({
    agent: stack.use(await startService(['cluster', 'agent', ...ofCluster], cluster)),
    executor: stack.use(await startService(['cluster', 'executor', ...ofCluster, ...state], cluster)),
  });
  const { agent, executor } = await start();
  const objects = new ConfigMaps(kubeconfig);
  await objects.make('dependent', [await objects.make('owner')]);
  await objects.remove('owner');
  await objects.finishedJob('job', 1);
  await objects.unscheduledPod('pod');
  await waitUntil('the executor to delete them', REMOVED_MS, async () => haveGone(await executor.metrics()));
  for (const service of [agent, executor]) expect(await service.end()).toBe(0);
  // Both read again what they told before.
  const again = await start();
  starting.move();
  return {
    server,
    services: [again.agent, again.executor],
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const CLUSTER = 'c1';
const CLUSTER_POLICY = {
  kind: 'ClusterPolicy',
  name: 'clusters',
  mode: 'enforce',
  undo: 'manifest',
  collectors: [
    'garbage-collector-controller',
    'pod-garbage-collector-controller',
    'ttl-after-finished-controller',
  ],
};

/** A Job goes foreground, so it is accepted first, and let go when nothing is left of it. */
const haveGone = (metrics: string): boolean =>
  DEEDS.every((deed) =>
    new RegExp(`^fleetgc_cluster_executor_objects_total\\{${deed}\\} [1-9]`, 'm').test(metrics),
  );
const DEEDS = [
  'action="delete",outcome="removed"',
  'action="expire",outcome="accepted"',
  'action="finish",outcome="patched"',
];

/** What a client of Kafka says that is not let in. Kinds of authorization.k8s.io are something else. */
const NOT_LET = /UNAUTHORIZED|not authorized|authorization failed|refuse the token/i;

/** Of all notices, each by itself. */
function rulesFile({ url }: HttpReceiver): string {
  const path = join(temporaryDirectory(), 'notices.json');
  const receivers = [{ name: 'pager', type: 'webhook', url }];
  writeFileSync(
    path,
    JSON.stringify({ receivers, rules: [{ name: 'all', to: ['pager'], atMostPerMinute: 600 }] }),
  );
  return path;
}

const required = (trusted: readonly string[]): readonly string[] => ['--trust', 'required', ...trusted];

const SIGNERS = ['decider', 'operator', 'dashboard', 'archiver', 'cluster', 'policy-controller'] as const;
type Signer = (typeof SIGNERS)[number];

/** A root, and a key for each role that signs; all of them lie on the event log by the operator's rights. */
async function setUpKeys() {
  const directory = temporaryDirectory();
  const file = (name: string): string => join(directory, name);
  const create = async (name: string) => (await done('operator', 'keys', 'create', file(name))).trim();
  const root = await create('root.pem');
  const roots = await done('operator', 'keys', 'roots', '--fleet', 'test', '--root', `first=${root}`);
  writeFileSync(file('roots.yaml'), roots);
  const trusted = ['--trust-roots', file('roots.yaml')];
  for (const role of SIGNERS) {
    const only = role === 'policy-controller' ? ['--cluster', 'test'] : [];
    const said = ['--role', role, '--name', role, '--valid-for', '1d', ...only];
    const key = await create(`${role}.pem`);
    await done('operator', 'keys', 'certify', key, ...said, ...trusted, '--root-key-file', file('root.pem'));
  }
  const keyOf = (role: Signer) => ['--signing-key-file', file(`${role}.pem`)];
  const signedBy = (role: Signer) => [...required(trusted), ...keyOf(role)];
  return { trusted, keyOf, signedBy };
}

async function onlookersWork(
  who: 'reader' | 'operator' | 'dashboard',
  trusted: readonly string[],
): Promise<void> {
  const status = JSON.parse(await done(who, 'status', '-o', 'json'));
  expect(status.services).toHaveLength(6);
  expect(status.services).toMatchObject(Array.from({ length: 6 }, () => ({ members: 1 })));
  expect(status.log.topicProblems).toEqual([]);
  expect(await done(who, 'nodes')).toMatch(/node-1/);
  await done(who, 'policy', 'list');
  await done(who, 'audit', 'report', '--period', '1h');
  await done(who, 'audit', 'explain', `node/${NODE}`);
  expect(await done(who, 'undo', CLUSTER, '-o', 'json', ...trusted)).toMatch(/"dependent"/);
  await done(who, 'keys', 'list', ...trusted);
}

interface Heads {
  readonly decide: ServiceProcess;
  readonly trusted: readonly string[];
  readonly archive: string;
  readonly archiverKey: readonly string[];
}

/** A decision service signs before it ends, an archiver after its pass, and whoever may read proves what they wrote. */
async function headsWork({ decide, trusted, archive, archiverKey }: Heads): Promise<void> {
  expect(await decide.readiness()).toMatchObject({ ready: true });
  expect(await decide.end()).toBe(0);
  expect(decide.output()).not.toMatch(NOT_LET);
  await done('archiver', 'audit', 'archive', '--to', archive, ...trusted, ...archiverKey);
  await done('archiver', 'audit', 'archive', 'check', '--archive', archive);
  for (const who of ['reader', 'operator', 'dashboard'] as const) await proves(who, trusted);
}

async function proves(who: 'reader' | 'operator' | 'dashboard', trusted: readonly string[]): Promise<void> {
  const verified = await as(who, 'audit', 'verify', ...trusted, '-o', 'json');
  // The node runs on while it is read: nobody decides what it says now (3).
  expect([0, 3], verified.stderr).toContain(verified.exitCode);
  expect(JSON.parse(verified.stdout)).toMatchObject({
    deviations: { total: 0 },
    heads: { decisionHeads: expect.toSatisfy((heads: number) => heads > 0) },
  });
}

/** What nobody can use is put aside by whoever was to read it, and facts are put back by an operator, and then from the page. */
async function deadLettersWork(): Promise<void> {
  const log = await openKafkaLog(settingsOf(fleet.environments.administrator), silentContext());
  onTestFinished(() => log[Symbol.asyncDispose]());
  const ofNodes = [TOPICS.diskStats, TOPICS.inventory, TOPICS.results, TOPICS.observe, TOPICS.commands];
  const ofClusters = [
    TOPICS.clusterOwnership,
    TOPICS.clusterPods,
    TOPICS.clusterExpiry,
    TOPICS.clusterCommands,
  ];
  const topics = [...ofNodes, ...ofClusters];
  const value = Buffer.from('not an event');
  await log.publish([
    ...ofNodes.map(({ name }) => ({ topic: name, key: NODE, value, headers: {} })),
    ...ofClusters.map(({ name }) => ({ topic: name, key: CLUSTER, value, headers: {} })),
  ]);
  for (const who of ['operator', 'dashboard'] as const) {
    await waitUntil(`dead letters of each topic for the ${who}`, REMOVED_MS, async () => {
      const letters = await done('reader', 'dead-letters', 'list');
      return topics.every(({ name }) => letters.includes(name));
    });
    const redriven = await as(who, 'dead-letters', 'redrive', '--all');
    expect(redriven.stdout).toBe('6 messages put back\n');
    expect(redriven.stderr).toMatch(/messages of gc\.node\.commands are not put back/);
  }
}

/** Before anybody tried what is denied below. */
test('each rule was needed, and none was missing', () => {
  const log = fleet.broker.authorizerLog();
  const used = allowedIn(log);
  const unused = ROLES.flatMap((role) =>
    rightsOf(role)
      .map(({ resource: { type, name, pattern }, operation }) => ({
        rule: `${PRINCIPALS[role]} ${operation} ${type} ${PREFIX}${name}`,
        pattern,
      }))
      .filter(({ rule, pattern }) =>
        pattern === 'literal' ? !used.has(rule) : ![...used].some((each) => each.startsWith(rule)),
      ),
  );
  expect(unused).toEqual([]);
  // It was refused rules for others above.
  expect([...deniedIn(log)]).toEqual([`${PRINCIPALS.operator} Describe cluster kafka-cluster`]);
});

async function tryAll(who: Login) {
  await using intruder = new Intruder(settingsOf(fleet.environments[who]));
  await intruder.connect();
  const outcomes: (Omit<Attempt, 'attempt'> & { readonly could: boolean })[] = [];
  for (const { attempt, ...tried } of attemptsOf(who, intruder))
    outcomes.push({ ...tried, could: await attempt() });
  return { who, outcomes };
}

test('what no rule allows is denied, and what one allows is not, by the broker itself', {
  timeout: BOUND_MS,
}, async () => {
  const { FLEETGC_KAFKA_PREFIX: _, ...environment } = fleet.environments.administrator;
  expect(await fleetgc(['topics', 'create'], { environment })).toMatchObject({ exitCode: 0 });
  const all: Awaited<ReturnType<typeof tryAll>>[] = [];
  for (const who of [...ROLES, 'stranger'] as const) all.push(await tryAll(who));
  const rows = all.map(({ who, outcomes }) => {
    const denied = (on: Attempt['on']): number =>
      outcomes.filter((outcome) => outcome.on === on && !outcome.could).length;
    const counts = [denied('topics'), denied('groups'), denied('the cluster')];
    const allowed = outcomes.filter(({ could }) => could).length;
    return [who, ...counts.map(String), `${counts.reduce((a, b) => a + b)}`, `${allowed}`];
  });
  const header = ['LOGIN', 'DENIED ON TOPICS', 'ON GROUPS', 'ON THE CLUSTER', 'DENIED IN ALL', 'ALLOWED'];
  process.stdout.write(`${tableLines(header, rows).join('\n')}\n`);
  const wrong = all.flatMap(({ who, outcomes }) =>
    outcomes
      .filter(({ may, could }) => may !== could)
      .map(({ what, could }) => `${who}: ${what} was ${could ? 'allowed' : 'denied'}`),
  );
  expect(wrong).toEqual([]);
});

test.each<{
  readonly name: string;
  readonly who: Who;
  readonly over?: () => Readonly<Record<string, string>>;
  readonly says: RegExp;
}>([
  {
    name: 'a token for somebody else',
    who: 'archiver',
    over: () => tokenOf({ subject: 'archivers', validSeconds: 600, audience: 'others' }),
    says: /The brokers refuse the token \(invalid_token\)/,
  },
  {
    name: 'a token that has ended',
    who: 'archiver',
    over: () => tokenOf({ subject: 'archivers', validSeconds: -600 }),
    says: /The brokers refuse the token \(invalid_token\)/,
  },
  {
    name: 'a wrong secret at the token server',
    who: 'decider',
    over: () => ({ FLEETGC_KAFKA_USERNAME: 'others' }),
    says: /The token server https:.+ gives no token \(401\): check --kafka-username, --kafka-password-file/,
  },
  {
    name: 'a token server whose authority is not trusted',
    who: 'decider',
    over: () => ({ FLEETGC_KAFKA_TOKEN_CA_FILE: fleet.broker.tls.otherAuthority }),
    says: /The token server https:.+ gives no token: .*certificate/,
  },
  {
    name: 'a login without any rule',
    who: 'stranger',
    says: /Kafka at .+ the rights of that user on the topics and groups \("fleetgc topics acls"\)/,
  },
])('$name: one clear line', async ({ who, over, says }) => {
  const environment = { ...fleet.environments[who], ...over?.() };
  const ended = await fleetgc(['policy', 'list'], { environment });
  expect(ended).toMatchObject({ exitCode: 1, stdout: '' });
  expect(ended.stderr).toMatch(says);
  expect(
    ended.stderr
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith('Waiting for Kafka')),
  ).toHaveLength(1);
});

function tokenOf(options: TokenOptions): Readonly<Record<string, string>> {
  const path = join(temporaryDirectory(), 'token');
  writeFileSync(path, fleet.broker.signer.token(options));
  return { FLEETGC_KAFKA_TOKEN_FILE: path };
}

test('a decider without rights on its group ends and says why', { timeout: BOUND_MS }, async () => {
  const ended = await fleetgc(['pressure', '--http-address', 'none'], {
    environment: fleet.environments.reader,
  });
  expect(ended.exitCode).toBe(1);
  expect(ended.stderr).toMatch(/rights of that user on the topics and groups/);
});
