import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import { CERTIFICATE_REQUEST } from '../../fixtures/certificate.ts';
import { createNetwork, type TestNetwork } from '../../support/network.ts';
import { type ApiServer, startApiServer } from '../../support/nodes/api-server.ts';
import { ClusterAccounts } from '../../support/nodes/cluster-account.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { inProcess } from '../fleetgc.ts';
import { type SpawnedVerb, spawnVerb } from '../service-process.ts';

/** From the start of the program to its last write. */
const COLLECTED_MS = 60_000;
const JOBS = '/apis/batch/v1/namespaces/default/jobs';
const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

let network: TestNetwork;
let server: ApiServer;
let accounts: ClusterAccounts;
let connection: ApiConnection;

beforeAll(async () => {
  network = await createNetwork();
  server = await startApiServer(network);
  accounts = new ClusterAccounts(server);
  connection = accounts.connection(accounts.admin);
});
afterAll(async () => {
  accounts?.[Symbol.dispose]();
  connection?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
  await network?.[Symbol.asyncDispose]();
});

async function call(method: 'POST' | 'PATCH', path: string, object: object): Promise<void> {
  const answer = await connection.call({
    method,
    path,
    body: JSON.stringify(object),
    contentType: method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
  });
  expect(answer.status, answer.body).toBeLessThan(300);
}

const secondsAgo = (seconds: number): string =>
  `${new Date(Date.now() - seconds * 1_000).toISOString().slice(0, 19)}Z`;

interface MadeJob {
  readonly ttlSecondsAfterFinished?: number;
  readonly annotations?: Readonly<Record<string, string>>;
}

async function newJob(name: string, { annotations = {}, ...spec }: MadeJob = {}): Promise<void> {
  await call('POST', JOBS, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, annotations },
    spec: {
      ...spec,
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'none' }] } },
    },
  });
}

/** A Job that was finished a minute ago. */
async function finishedJob(name: string, made: MadeJob = {}): Promise<void> {
  await newJob(name, made);
  const at = secondsAgo(60);
  await call('PATCH', `${JOBS}/${name}/status`, {
    status: {
      startTime: at,
      completionTime: at,
      succeeded: 1,
      uncountedTerminatedPods: {},
      conditions: ['SuccessCriteriaMet', 'Complete'].map((type) => ({
        type,
        status: 'True',
        lastProbeTime: at,
        lastTransitionTime: at,
      })),
    },
  });
}

async function there(path: string) {
  const { status, body } = await connection.call({ method: 'GET', path });
  return status === 404 ? null : JSON.parse(body).metadata;
}

/** With the rights that are printed for its policy, and no others. */
async function startRun(
  policy: object,
): Promise<{ readonly running: SpawnedVerb; readonly logPath: string }> {
  const directory = temporaryDirectory();
  const file = join(directory, 'policy.yaml');
  writeFileSync(file, stringify({ kind: 'ClusterPolicy', name: 'clusters', ...policy }));
  const kubeconfig = await accounts.account('run', '--policy', file);
  const logPath = join(directory, 'log.db');
  const running = spawnVerb(
    ...['cluster', 'run', '--cluster', 'c1', '--kubeconfig', kubeconfig],
    ...['--policy', file, '--log-path', logPath],
  );
  return { running, logPath };
}
const COLLECTORS = [
  'garbage-collector-controller',
  'ttl-after-finished-controller',
  'certificatesigningrequest-cleaner-controller',
];

async function verified(logPath: string) {
  return await inProcess(['audit', 'verify', '--threads', '1', '--log', 'embedded', '--log-path', logPath]);
}

test('[cluster K1, K4, K6] Jobs go when their TTL is over, foreground, and no others; and the log proves it', async () => {
  await finishedJob('past', { ttlSecondsAfterFinished: 5 });
  await finishedJob('without');
  await finishedJob('long', { ttlSecondsAfterFinished: 3_600 });
  await finishedJob('kept', { ttlSecondsAfterFinished: 5, annotations: { 'fleetgc.io/keep': '' } });
  const dry = await startRun({ mode: 'dry-run', collectors: COLLECTORS });
  await waitUntil('the dry run to tell', COLLECTED_MS, () =>
    dry.running.output.stdout.includes(
      'expiry-gc would delete batch/Job default/past, whose time is over, but this is a dry run',
    ),
  );
  expect(await dry.running.terminate()).toBe(0);
  expect(await there(`${JOBS}/past`)).not.toBeNull();

  const { running, logPath } = await startRun({ mode: 'enforce', collectors: COLLECTORS });
  await waitUntil('the Job to go', COLLECTED_MS, async () => (await there(`${JOBS}/past`)) === null);
  await waitUntil('it to be told', COLLECTED_MS, () =>
    running.output.stdout.includes(
      'batch/Job default/past being deleted; finalizers or a grace period may hold it (K4)',
    ),
  );
  // A TTL that is shortened counts at once, and so does one that ends while the program runs.
  await call('PATCH', `${JOBS}/long`, { spec: { ttlSecondsAfterFinished: 61 } });
  await waitUntil('the other Job to go', COLLECTED_MS, async () => (await there(`${JOBS}/long`)) === null);
  for (const name of ['without', 'kept']) expect(await there(`${JOBS}/${name}`)).not.toBeNull();
  expect(await running.terminate()).toBe(0);
  const { exitCode, stdout, stderr } = await verified(logPath);
  expect(exitCode, stdout + stderr).toBe(0);
});

/** One that was denied so long ago. */
async function deniedRequest(name: string, agoSeconds: number): Promise<void> {
  await call('POST', REQUESTS, {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: {
      request: Buffer.from(CERTIFICATE_REQUEST).toString('base64'),
      signerName: 'example.com/nobody',
      usages: ['client auth'],
    },
  });
  const at = secondsAgo(agoSeconds);
  await call('PATCH', `${REQUESTS}/${name}/approval`, {
    status: {
      conditions: [
        { type: 'Denied', status: 'True', reason: 'Test', lastUpdateTime: at, lastTransitionTime: at },
      ],
    },
  });
}

test('[cluster L3, L10] certificate requests go an hour after they were denied, where the policy gives their collector', async () => {
  await deniedRequest('old', 3_700);
  await deniedRequest('young', 60);
  const others = await startRun({ mode: 'enforce', collectors: ['garbage-collector-controller'] });
  await waitUntil('it to be told whose work it is', COLLECTED_MS, () =>
    others.running.output.stdout.includes(
      'expiry-gc would delete certificates.k8s.io/CertificateSigningRequest old, whose time is over, but the policy gives FleetGC no such collector',
    ),
  );
  expect(await others.running.terminate()).toBe(0);
  expect(await there(`${REQUESTS}/old`)).not.toBeNull();

  const { running, logPath } = await startRun({ mode: 'enforce', collectors: COLLECTORS });
  await waitUntil('the request to go', COLLECTED_MS, async () => (await there(`${REQUESTS}/old`)) === null);
  await waitUntil('it to be told', COLLECTED_MS, () =>
    running.output.stdout.includes('certificates.k8s.io/CertificateSigningRequest old deleted (L3)'),
  );
  expect(await there(`${REQUESTS}/young`)).not.toBeNull();
  expect(await running.terminate()).toBe(0);
  const { exitCode, stdout, stderr } = await verified(logPath);
  expect(exitCode, stdout + stderr).toBe(0);
});

test('[cluster S8, S9, S10] by a rule of the policy goes what its annotation lets go, no more in an hour than it says, and nothing that is forbidden', async () => {
  const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
  const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';
  const over = { 'janitor/ttl': '1s' };
  const make = (path: string, kind: string, name: string, annotations: object) =>
    call('POST', path, { apiVersion: 'v1', kind, metadata: { name, annotations } });
  await make(CONFIG_MAPS, 'ConfigMap', 'over', over);
  await make(CONFIG_MAPS, 'ConfigMap', 'long', { 'janitor/ttl': '1w' });
  await make(CONFIG_MAPS, 'ConfigMap', 'kept', { ...over, 'fleetgc.io/keep': '' });
  await make(ACCOUNTS, 'ServiceAccount', 'account', over);
  const rule = { name: 'old', kinds: ['ConfigMap', 'ServiceAccount'], removalsPerHour: 1 };
  const { running, logPath } = await startRun({ mode: 'enforce', rules: [rule] });
  await waitUntil('it to go', COLLECTED_MS, async () => (await there(`${CONFIG_MAPS}/over`)) === null);
  await waitUntil('it to be told', COLLECTED_MS, () =>
    running.output.stdout.includes('ConfigMap default/over deleted (S8)'),
  );
  await make(CONFIG_MAPS, 'ConfigMap', 'next', over);
  await waitUntil('the limit to be told', COLLECTED_MS, () =>
    running.output.stdout.includes(
      'ConfigMap default/next stays: 1 objects went in the past hour by its rule',
    ),
  );
  expect(await running.terminate()).toBe(0);
  for (const name of ['long', 'kept', 'next']) expect(await there(`${CONFIG_MAPS}/${name}`)).not.toBeNull();
  expect(await there(`${ACCOUNTS}/account`)).not.toBeNull();
  const { exitCode, stdout, stderr } = await verified(logPath);
  expect(exitCode, stdout + stderr).toBe(0);
});

const PODS = '/api/v1/namespaces/default/pods';

interface MadePod {
  readonly app: string;
  /** That controls it. */
  readonly job?: string;
  readonly status: object;
}

async function pod(name: string, { app, job, status }: MadePod): Promise<void> {
  const uid = job === undefined ? '' : (await there(`${JOBS}/${job}`))?.uid;
  const ownerReferences =
    job === undefined ? [] : [{ apiVersion: 'batch/v1', kind: 'Job', name: job, uid, controller: true }];
  await call('POST', PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app }, ownerReferences },
    spec: { nodeName: 'n', automountServiceAccountToken: false, containers: [{ name: 'c', image: 'none' }] },
  });
  await call('PATCH', `${PODS}/${name}/status`, { status });
}

test('[cluster S12, S13, S14, S15] by rules with an age go finished Jobs and pods that ended, and what says nothing of its end stays', async () => {
  await finishedJob('done');
  await finishedJob('done-with-ttl', { ttlSecondsAfterFinished: 3_600 });
  await newJob('going-on');
  const began = { phase: 'Failed', reason: 'Evicted', startTime: secondsAgo(300) };
  const disrupted = { type: 'DisruptionTarget', status: 'True', lastTransitionTime: secondsAgo(300) };
  const evicted = { ...began, conditions: [disrupted] };
  const waiting = {
    name: 'c',
    image: 'none',
    imageID: '',
    ready: false,
    restartCount: 0,
    state: { waiting: {} },
  };
  await pod('evicted', { app: 'ci', status: evicted });
  await pod('evicted-of-job', { app: 'ci', job: 'going-on', status: evicted });
  await pod('evicted-elsewhere', { app: 'web', status: evicted });
  await pod('ended-at-no-time', { app: 'ci', status: { ...began, containerStatuses: [waiting] } });
  await pod('running', { app: 'ci', status: { phase: 'Running', startTime: secondsAgo(300) } });
  const rules = [
    { name: 'jobs', kinds: ['batch/Job'], states: ['Complete', 'Failed'], after: '1m' },
    { name: 'pods', kinds: ['Pod'], states: ['Evicted'], labels: { app: 'ci' }, after: '1m' },
  ];
  const { running, logPath } = await startRun({ mode: 'enforce', rules });
  for (const [path, name] of [
    [JOBS, 'done'],
    [PODS, 'evicted'],
  ] as const) {
    await waitUntil(`${name} to go`, COLLECTED_MS, async () => (await there(`${path}/${name}`)) === null);
    // Both may go by one command, and are told in one line then.
    const told = new RegExp(`^.*default/${name}\\b.* deleted \\(S12\\)$`, 'm');
    await waitUntil('it to be told', COLLECTED_MS, () => told.test(running.output.stdout));
  }
  expect(await running.terminate()).toBe(0);
  for (const name of ['done-with-ttl', 'going-on']) expect(await there(`${JOBS}/${name}`)).not.toBeNull();
  for (const name of ['evicted-of-job', 'evicted-elsewhere', 'ended-at-no-time', 'running'])
    expect(await there(`${PODS}/${name}`)).not.toBeNull();
  const { exitCode, stdout, stderr } = await verified(logPath);
  expect(exitCode, stdout + stderr).toBe(0);
});

test('[cluster S7, S11] what a rule would take too much of is held, is listed, and goes once the command that is printed approves it', async () => {
  const CONFIG_MAPS = '/api/v1/namespaces/held/configmaps';
  const metadata = { name: 'held' };
  await call('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata });
  const names = Array.from({ length: 12 }, (_, index) => `many-${index}`);
  for (const name of names)
    await call('POST', CONFIG_MAPS, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      // All were over long ago: of a part, fewer than a rule is held for, nobody would have to ask.
      metadata: { name, annotations: { 'janitor/expires': '2026-01-01' } },
    });
  const rule = { name: 'many', kinds: ['ConfigMap'], namespaces: ['held'] };
  const { running, logPath } = await startRun({ mode: 'enforce', rules: [rule] });
  const verb = async (...args: readonly string[]): Promise<string> =>
    (await inProcess([...args, '--log', 'embedded', '--log-path', logPath])).stdout;
  await waitUntil('all of them to be listed', COLLECTED_MS, async () =>
    /S11 {2}rule many, .*; 12 objects held since /.test(await verb('held')),
  );
  await waitUntil('it to be told', COLLECTED_MS, () =>
    running.output.stdout.includes('expiry-gc holds 12 ConfigMap'),
  );
  for (const name of names) expect(await there(`${CONFIG_MAPS}/${name}`), name).not.toBeNull();
  const words = /fleetgc (approve c1 many\/ConfigMap --as rule --objects \d+) /.exec(await verb('held'))?.[1];
  expect(await verb(...(words?.split(' ') ?? []))).toMatch(
    /^approved: rule many, objects of kind ConfigMap /,
  );
  await waitUntil('them to go', COLLECTED_MS, async () => {
    const left = await Promise.all(names.map((name) => there(`${CONFIG_MAPS}/${name}`)));
    return left.every((one) => one === null);
  });
  expect(await running.terminate()).toBe(0);
  const { exitCode, stdout, stderr } = await verified(logPath);
  expect(exitCode, stdout + stderr).toBe(0);
});
