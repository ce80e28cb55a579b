import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { openEmbeddedLog } from '../../../packages/log/embedded.ts';
import { ClusterDecision } from '../../../schemas/events/cluster-decision.ts';
import { ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import { Ownership } from '../../../schemas/events/ownership.ts';
import { TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import { silentContext } from '../../packages/log/probe.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { inProcess } from '../fleetgc.ts';
import { jsonOf, readTopic } from '../read-topic.ts';
import { COLLECTED_MS, FaultyCluster, type FaultyRun, type Owner } from './support/fault-suite.ts';
import { type RealSubject, realSubject } from './support/real-subject.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const SECRETS = '/api/v1/namespaces/default/secrets';
const PODS = '/api/v1/namespaces/default/pods';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const REPLICA_SETS = '/apis/apps/v1/namespaces/default/replicasets';
const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const API_SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';

const OURS = {};
/** As kube-controller-manager decides. */
const UPSTREAM = { profile: 'kubernetes' };

let subject: RealSubject;
let cluster: FaultyCluster;
beforeAll(async () => {
  subject = await realSubject();
  cluster = await FaultyCluster.start(subject);
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

/** What its dependents say of it. */
interface Named extends Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly blockOwnerDeletion?: boolean;
}

interface Made {
  readonly apiVersion?: string;
  readonly kind: string;
  readonly name: string;
  readonly owners?: readonly Named[];
  readonly finalizers?: readonly string[];
  readonly more?: object;
}

async function made(
  path: string,
  { apiVersion = 'v1', kind, name, more = {}, ...rest }: Made,
): Promise<Named> {
  const { owners: ownerReferences = [], finalizers = [] } = rest;
  const metadata = { name, ownerReferences, finalizers };
  const answer = await cluster.call('POST', path, { apiVersion, kind, metadata, ...more });
  expect(answer.status, answer.body).toBe(201);
  return { apiVersion, kind, name, uid: JSON.parse(answer.body).metadata.uid };
}
const map = (name: string, ...owners: readonly Named[]): Promise<Named> =>
  made(MAPS, { kind: 'ConfigMap', name, owners });
const blocking = (owner: Named): Named => ({ ...owner, blockOwnerDeletion: true });

async function patched(path: string, change: object): Promise<void> {
  const contentType = 'application/merge-patch+json';
  const body = JSON.stringify(change);
  const answer = await subject.connection.call({ method: 'PATCH', path, contentType, body });
  expect(answer.status, answer.body).toBe(200);
}

/** Its metadata; `null` for what is not there. */
async function there(path: string) {
  const { status, body } = await cluster.call('GET', path);
  return status === 404 ? null : JSON.parse(body).metadata;
}
const gone = (path: string): Promise<unknown> =>
  waitUntil(`${path} to go`, COLLECTED_MS, async () => (await there(path)) === null);

/** The account gets the rights that are printed for this policy. */
async function giveRights(policy: object): Promise<void> {
  const file = join(temporaryDirectory(), 'policy.yaml');
  const collectors = ['garbage-collector-controller'];
  writeFileSync(
    file,
    stringify({ kind: 'ClusterPolicy', name: 'p', mode: 'enforce', collectors, ...policy }),
  );
  const printed = ['--part', 'run', '--kubeconfig', subject.accounts.admin, '--policy', file];
  await subject.accounts.applyPrinted('rbac', '--with', 'all', ...printed);
}

async function startRun(policy: object, logPath: string): Promise<FaultyRun> {
  await giveRights(policy);
  return cluster.startRun(logPath, policy);
}
const newLog = (): string => join(temporaryDirectory(), 'log.db');

/** It ends well, and its log proves what it did. */
async function proved(running: FaultyRun, logPath: string): Promise<void> {
  expect(await running.terminate()).toBe(0);
  const verify = ['audit', 'verify', '--threads', '1', '--log', 'embedded', '--log-path', logPath];
  const { exitCode, stdout, stderr } = await inProcess(verify);
  expect([exitCode, stderr], stdout).toEqual([0, '']);
}

async function eventsOn(logPath: string, topic: TopicId): Promise<readonly unknown[]> {
  const options = { path: logPath, maxBytes: 2 ** 30, leavesRetention: true };
  await using log = await openEmbeddedLog(options, silentContext());
  return (await readTopic(log, TOPICS[topic].name)).map(jsonOf);
}

/** What was told of this object, in the order in which it was told. */
const outcomes = async (logPath: string, name: string): Promise<readonly string[]> =>
  (await eventsOn(logPath, 'clusterResults'))
    .flatMap((event) => ClusterObjectResults.safeParse(event).data?.objects ?? [])
    .flatMap(({ object, result }) => (object.name === name ? [result.outcome] : []));

/** What was decided about the object that has this name, as `keep S4`. */
async function verdicts(logPath: string, name: string): Promise<readonly string[]> {
  const facts = (await eventsOn(logPath, 'clusterOwnership')).map((event) => Ownership.parse(event));
  const candidates = new Map(facts.map((fact) => [fact.id, fact.candidates]));
  return (await eventsOn(logPath, 'clusterDecisions'))
    .map((event) => ClusterDecision.parse(event))
    .flatMap(({ input, verdicts: told }) =>
      told.flatMap(({ position, action, rule }) =>
        candidates.get(input.id)?.[position]?.object.name === name ? [`${action} ${rule}`] : [],
      ),
    );
}

const report = async (logPath: string): Promise<string> =>
  (await inProcess(['cluster', 'report', '--log', 'embedded', '--log-path', logPath])).stdout;

test('[cluster A10, D4] scenario 1: a dependent that is seen long before its owner stays', async () => {
  const logPath = newLog();
  const running = await startRun(OURS, logPath);
  await cluster.working(running, 'before-late');
  const release = cluster.proxy.holdWatches('secrets');
  onTestFinished(release);
  const owner = await made(SECRETS, { kind: 'Secret', name: 'late-owner' });
  await map('early', owner);
  await waitUntil('the executor to find the owner there', COLLECTED_MS, async () =>
    (await outcomes(logPath, 'early')).includes('refused'),
  );
  release();
  await cluster.working(running, 'after-late');
  expect(await there(`${MAPS}/early`)).not.toBeNull();
  await cluster.call('DELETE', `${SECRETS}/late-owner`);
  await cluster.collected(running, 'early');
  await proved(running, logPath);
});

test('[cluster D11, D15] scenario 2: what is adopted between the decision and the deed lives, and loses the old reference', async () => {
  const logPath = newLog();
  const running = await startRun(OURS, logPath);
  await cluster.working(running, 'before-adoption');
  const [old, next] = [await map('adopted-from'), await map('adopted-by')];
  await map('adopted', old);
  let deletions = 0;
  const end = cluster.proxy.intercept(async ({ method, path }) => {
    if (method === 'DELETE' && path.endsWith('/adopted') && ++deletions === 1)
      await patched(`${MAPS}/adopted`, { metadata: { ownerReferences: [old, next] } });
    return { kind: 'passed' };
  });
  onTestFinished(end);
  await cluster.remove('adopted-from');
  await waitUntil('the old reference to be dropped', COLLECTED_MS, async () => {
    const { ownerReferences } = await there(`${MAPS}/adopted`);
    return ownerReferences.length === 1 && ownerReferences[0].uid === next.uid;
  });
  end();
  expect(deletions).toBe(1);
  await waitUntil('both to be told', COLLECTED_MS, async () => {
    const told = await outcomes(logPath, 'adopted');
    return told.includes('refused') && told.includes('patched');
  });
  await proved(running, logPath);
});

test('[cluster D5] scenario 3: an owner that is made again under its name is another one', async () => {
  const logPath = newLog();
  const running = await startRun(OURS, logPath);
  await cluster.working(running, 'before-again');
  await map('of-the-old', await map('again'));
  await cluster.remove('again');
  await map('of-the-new', await map('again'));
  await cluster.collected(running, 'of-the-old');
  await cluster.working(running, 'after-again');
  for (const name of ['again', 'of-the-new']) expect(await there(`${MAPS}/${name}`)).not.toBeNull();
  await proved(running, logPath);
});

test.each([
  ['fleetgc', OURS],
  ['kubernetes', UPSTREAM],
])(
  '[cluster H2] scenario 4: in profile %s a ClusterRole that names a namespaced owner stays, though what names it is seen first; and it is told',
  async (profile, policy) => {
    const logPath = newLog();
    const running = await startRun(policy, logPath);
    await cluster.working(running, `before-role-${profile}`);
    const release = cluster.proxy.holdWatches('clusterroles');
    onTestFinished(release);
    const owner = await map(`namespaced-${profile}`);
    const rbac = 'rbac.authorization.k8s.io/v1';
    const name = `owned-${profile}`;
    const role = await made(ROLES, { apiVersion: rbac, kind: 'ClusterRole', name, owners: [owner] });
    await map(`of-role-${profile}`, role);
    await waitUntil('what names the role to be judged', COLLECTED_MS, async () =>
      (await outcomes(logPath, `of-role-${profile}`)).includes('refused'),
    );
    release();
    await cluster.remove(owner.name);
    await cluster.working(running, `after-role-${profile}`);
    await waitUntil('the role to be told', 2 * COLLECTED_MS, async () =>
      (await report(logPath)).includes(
        `rbac.authorization.k8s.io/ClusterRole ${name}: ConfigMap ${owner.name}, which has a namespace, and it has none`,
      ),
    );
    for (const path of [`${ROLES}/${name}`, `${MAPS}/of-role-${profile}`])
      expect(await there(path), path).not.toBeNull();
    await proved(running, logPath);
  },
);

const LABELS = { app: 'chain' };
const TEMPLATE = {
  metadata: { labels: LABELS },
  spec: { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'none' }] },
};
const WORKLOAD = { spec: { replicas: 0, selector: { matchLabels: LABELS }, template: TEMPLATE } };

test('[cluster D13, D17, G10] scenario 6: a finalizer on a Pod holds its ReplicaSet and Deployment, over a restart, and all go with it', async () => {
  const apps = { apiVersion: 'apps/v1', more: WORKLOAD };
  const deployment = await made(DEPLOYMENTS, { ...apps, kind: 'Deployment', name: 'chain' });
  const inChain = { ...apps, kind: 'ReplicaSet', name: 'chain-1', owners: [blocking(deployment)] };
  const owners = [blocking(await made(REPLICA_SETS, inChain))];
  const pod = { kind: 'Pod', owners, more: { spec: TEMPLATE.spec } };
  await made(PODS, { ...pod, name: 'chain-1-a' });
  await made(PODS, { ...pod, name: 'chain-1-held', finalizers: ['example.com/held'] });
  const logPath = newLog();
  const foreground = { propagationPolicy: 'Foreground' };
  const first = await startRun(OURS, logPath);
  await cluster.working(first, 'before-chain');
  await cluster.call('DELETE', `${DEPLOYMENTS}/chain`, foreground);
  await gone(`${PODS}/chain-1-a`);
  await waitUntil('the held pod to be deleted', COLLECTED_MS, async () => {
    return (await there(`${PODS}/chain-1-held`)).deletionTimestamp !== undefined;
  });
  await first.kill();
  await cluster.call('DELETE', `${DEPLOYMENTS}/chain`, foreground);
  const second = await startRun(OURS, logPath);
  await cluster.working(second, 'after-chain');
  for (const path of [`${DEPLOYMENTS}/chain`, `${REPLICA_SETS}/chain-1`])
    expect((await there(path)).finalizers).toEqual(['foregroundDeletion']);
  await waitUntil('what holds them to be told', 2 * COLLECTED_MS, async () =>
    /apps\/ReplicaSet default\/chain-1, deleted \S+: 1 dependent, such as Pod default\/chain-1-held/.test(
      await report(logPath),
    ),
  );
  await patched(`${PODS}/chain-1-held`, { metadata: { finalizers: [] } });
  for (const path of [`${PODS}/chain-1-held`, `${REPLICA_SETS}/chain-1`, `${DEPLOYMENTS}/chain`])
    await gone(path);
  await proved(second, logPath);
});

test('[cluster D12, G11] scenario 7: a ring of objects that block one another goes as a whole', async () => {
  const a = await map('ring-a');
  const b = await map('ring-b', blocking(a));
  const c = await map('ring-c', blocking(b));
  await patched(`${MAPS}/ring-a`, { metadata: { ownerReferences: [blocking(c)] } });
  const logPath = newLog();
  const running = await startRun(OURS, logPath);
  await cluster.working(running, 'before-ring');
  await cluster.remove('ring-a', 'Foreground');
  for (const { name } of [a, b, c]) await cluster.collected(running, name);
  await proved(running, logPath);
});

const CONVERTED = '/apis/converted.example.com';
const version = (name: string, storage: boolean): object => ({
  name,
  served: true,
  storage,
  schema: { openAPIV3Schema: { type: 'object' } },
});
const definition = (group: string, kind: string, more: object = {}): object => {
  const singular = kind.toLowerCase();
  const names = { plural: `${singular}s`, singular, kind, listKind: `${kind}List` };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.${group}` },
    spec: { group, scope: 'Cluster', names, versions: [version('v1', true)], ...more },
  };
};
/** Nobody answers there. */
const NOWHERE = 'https://127.0.0.1:1/convert';

async function defined(group: string, kind: string): Promise<void> {
  const object = definition(group, kind);
  await waitUntil(`${kind} to be defined`, COLLECTED_MS, async () => {
    return (await cluster.call('POST', DEFINITIONS, object)).status === 201;
  });
  await waitUntil(`${kind} to be served`, COLLECTED_MS, async () => {
    return (await cluster.call('GET', `/apis/${group}/v1/${kind.toLowerCase()}s`)).status === 200;
  });
}

test('[cluster D4, D9, I3, I7, I8] scenario 10: a group whose server is away and a kind whose conversion breaks keep what they own, and hold up nobody', async () => {
  await defined('converted.example.com', 'Turned');
  const turned = { apiVersion: 'converted.example.com/v1', kind: 'Turned' };
  const owner = await made(`${CONVERTED}/v1/turneds`, { ...turned, name: 'is-there' });
  const webhook = { conversionReviewVersions: ['v1'], clientConfig: { url: NOWHERE } };
  await patched(`${DEFINITIONS}/turneds.converted.example.com`, {
    spec: {
      versions: [version('v1', true), version('v2', false)],
      conversion: { strategy: 'Webhook', webhook },
    },
  });
  // Rights are not printed while a group is away.
  await giveRights(OURS);
  onTestFinished(async () => {
    await cluster.call('DELETE', `${API_SERVICES}/v1.away.example.com`);
    await cluster.call('DELETE', `${DEFINITIONS}/turneds.converted.example.com`);
  });
  const away = { group: 'away.example.com', version: 'v1', groupPriorityMinimum: 100, versionPriority: 100 };
  const service = { namespace: 'default', name: 'nobody', port: 443 };
  await made(API_SERVICES, {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    name: 'v1.away.example.com',
    more: { spec: { ...away, service, insecureSkipTLSVerify: true } },
  });
  await waitUntil('the conversion to break', COLLECTED_MS, async () => {
    return (await cluster.call('GET', `${CONVERTED}/v2/turneds`)).status === 500;
  });
  await map('of-converted', { ...owner, apiVersion: 'converted.example.com/v2' });
  const never = { name: 'never', uid: 'b1e0d0f5-8ac6-4d2f-8a53-6ef4d44aa7ff' };
  await map('of-nobody', { ...turned, ...never, apiVersion: 'converted.example.com/v2' });
  await map('of-away', { ...never, apiVersion: 'away.example.com/v1', kind: 'Away' });
  const logPath = newLog();
  const asked: string[] = [];
  const running = await cluster.startRun(logPath);
  await cluster.working(running, 'beside-broken');
  await waitUntil('the kind to be told', COLLECTED_MS, () =>
    running.output.stderr.includes('nothing is concluded of converted.example.com/Turned'),
  );
  // Of whom the API server says by name that nobody is there.
  await cluster.collected(running, 'of-nobody');
  await waitUntil('the owner that cannot be read to be asked for', COLLECTED_MS, () => {
    asked.push(...cluster.proxy.takeAsked());
    return asked.some((each) => each.startsWith(`GET ${CONVERTED}/v2/turneds/is-there`));
  });
  await cluster.working(running, 'still-beside-broken');
  for (const name of ['of-converted', 'of-away']) expect(await there(`${MAPS}/${name}`)).not.toBeNull();
  await proved(running, logPath);
});

const STEPS = [1, 2, 3, 4].flatMap((at) => (['lost', 'unanswered'] as const).map((fate) => ({ at, fate })));

test.each(STEPS)(
  '[cluster D15, D16] scenario 12: killed at its request $at about what an owner left, which is $fate, all of it goes once',
  async ({ at, fate }) => {
    const name = `killed-${at}-${fate}`;
    const logPath = newLog();
    const first = await startRun(OURS, logPath);
    await cluster.working(first, `before-${name}`);
    const owner = await map(name);
    const left = [1, 2, 3].map((number) => `${name}-left-${number}`);
    for (const each of left) await map(each, owner);
    await map(`${name}-stays`, await map(`${name}-other`));
    let requests = 0;
    const end = cluster.proxy.intercept(({ path }) => {
      if (!path.includes(`/${name}`) || ++requests < at) return { kind: 'passed' };
      // What it asks from then on until it is killed is lost.
      return { kind: requests === at ? fate : 'lost' };
    });
    onTestFinished(end);
    await cluster.remove(name);
    await waitUntil('it to come so far', COLLECTED_MS, () => requests >= at);
    await first.kill();
    end();
    const second = await startRun(OURS, logPath);
    for (const each of left) await cluster.collected(second, each);
    for (const each of [`${name}-stays`, `${name}-other`])
      expect(await there(`${MAPS}/${each}`)).not.toBeNull();
    await waitUntil('all of it to be told', COLLECTED_MS, async () => {
      const told = await Promise.all(left.map((each) => outcomes(logPath, each)));
      return told.every((each) => each.includes('removed') || each.includes('not-found'));
    });
    for (const each of left) {
      const removed = (await outcomes(logPath, each)).filter((outcome) => outcome === 'removed');
      expect(removed.length, each).toBeLessThanOrEqual(1);
    }
    await proved(second, logPath);
  },
);

const JOBS = '/apis/batch/v1/namespaces/default/jobs';

/** A Job that ended just now. */
async function finishedJob(name: string, ttlSecondsAfterFinished: number): Promise<void> {
  const template = { spec: { ...TEMPLATE.spec, restartPolicy: 'Never' } };
  const more = { spec: { ttlSecondsAfterFinished, template } };
  await made(JOBS, { apiVersion: 'batch/v1', kind: 'Job', name, more });
  const at = `${new Date().toISOString().slice(0, 19)}Z`;
  const condition = { status: 'True', lastProbeTime: at, lastTransitionTime: at };
  const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => ({ type, ...condition }));
  const ended = { startTime: at, completionTime: at, succeeded: 1, uncountedTerminatedPods: {} };
  await patched(`${JOBS}/${name}/status`, { status: { ...ended, conditions } });
}

test('[cluster K4] while the clock of the API server jumps by an hour and back no Job goes before its time, and later those go that have had theirs', async () => {
  const logPath = newLog();
  const collectors = ['garbage-collector-controller', 'ttl-after-finished-controller'];
  const running = await startRun({ collectors }, logPath);
  await cluster.working(running, 'before-jump');
  await finishedJob('half-an-hour', 1_800);
  onTestFinished(() => {
    cluster.proxy.clockAheadMs = 0;
  });
  cluster.proxy.clockAheadMs = 3_600_000;
  // Each new definition has the API server asked, whose answers bear the other time.
  for (const number of [1, 2, 3]) {
    cluster.proxy.takeAsked();
    await defined(`jump-${number}.example.com`, 'Jumping');
    const asked: string[] = [];
    await waitUntil('the other time to be read', COLLECTED_MS, () => {
      asked.push(...cluster.proxy.takeAsked());
      return asked.includes('GET /apis');
    });
  }
  expect(await there(`${JOBS}/half-an-hour`)).not.toBeNull();
  cluster.proxy.clockAheadMs = 0;
  await finishedJob('at-once', 1);
  await waitUntil('time to be believed again', 3 * COLLECTED_MS, async () => {
    return (await there(`${JOBS}/at-once`)) === null;
  });
  expect(await there(`${JOBS}/half-an-hour`)).not.toBeNull();
  await proved(running, logPath);
});

interface Loss {
  readonly what: string;
  readonly policy?: object;
  /** What is there before the program runs. */
  readonly prepare: (name: string) => Promise<unknown>;
  /** Resolves to the paths of what may be lost. */
  readonly play: (name: string) => Promise<readonly string[]>;
  /** It was looked at, and stays. */
  readonly isKept: (name: string, running: FaultyRun, logPath: string) => Promise<boolean> | boolean;
}

const holds = (name: string, { output }: FaultyRun): boolean =>
  output.stdout.split('\n').some((line) => line.includes('graph-gc holds') && line.includes(name));
const keeps =
  (rule: string): Loss['isKept'] =>
  async (name, _, logPath) =>
    (await verdicts(logPath, name)).includes(`keep ${rule}`);

const SPACES = '/api/v1/namespaces';
const owningKind = (
  name: string,
): { readonly group: string; readonly kind: string; readonly path: string } => {
  const [group, kind] = [`${name}.example.com`, 'Owning'];
  return { group, kind, path: `/apis/${group}/v1/ownings` };
};

const LOSSES: readonly Loss[] = [
  {
    what: '[cluster S1] a wide cascade',
    policy: { limits: { cascade: 2 } },
    prepare: async (name) => {
      const owner = await map(name);
      for (const number of [1, 2, 3]) await map(`${name}-${number}`, owner);
    },
    play: async (name) => {
      await cluster.remove(name);
      return [1, 2, 3].map((number) => `${MAPS}/${name}-${number}`);
    },
    isKept: holds,
  },
  {
    what: '[cluster S2, S3] scenario 9: what objects own whose definition goes, a Namespace among it',
    prepare: async (name) => {
      const { group, kind, path } = owningKind(name);
      await defined(group, kind);
      // So it is still there when its objects are gone, as with a program that saves it first.
      await patched(`${DEFINITIONS}/ownings.${group}`, { metadata: { finalizers: ['example.com/saved'] } });
      const owner = await made(path, { apiVersion: `${group}/v1`, kind, name });
      for (const number of [1, 2]) await map(`${name}-${number}`, owner);
      await made(SPACES, { kind: 'Namespace', name: `${name}-space`, owners: [owner] });
    },
    play: async (name) => {
      await cluster.call('DELETE', `${DEFINITIONS}/ownings.${owningKind(name).group}`);
      return [...[1, 2].map((number) => `${MAPS}/${name}-${number}`), `${SPACES}/${name}-space`];
    },
    isKept: (name, running) => holds(`${name}-1`, running) && holds(`${name}-space`, running),
  },
  {
    what: '[cluster S4] scenario 5: a Secret that was copied to another namespace with its references',
    prepare: async (name) => {
      const owners = [await map(name)];
      await made(SPACES, { kind: 'Namespace', name: `${name}-space` });
      await made(SECRETS, { kind: 'Secret', name: `${name}-original`, owners });
      await made(`${SPACES}/${name}-space/secrets`, { kind: 'Secret', name: `${name}-copy`, owners });
    },
    play: async (name) => [`${SPACES}/${name}-space/secrets/${name}-copy`],
    isKept: (name, running, logPath) => keeps('S4')(`${name}-copy`, running, logPath),
  },
  {
    what: '[cluster S5] what bears the annotation',
    prepare: async (name) => {
      await map(`${name}-kept`, await map(name));
      await patched(`${MAPS}/${name}-kept`, { metadata: { annotations: { 'fleetgc.io/keep': '' } } });
    },
    play: async (name) => {
      await cluster.remove(name);
      return [`${MAPS}/${name}-kept`];
    },
    isKept: (name, running, logPath) => keeps('S5')(`${name}-kept`, running, logPath),
  },
  {
    what: '[cluster S6, E4] scenario 8: a dependent that shows up after its owner has orphaned',
    prepare: async (name) => void (await map(`${name}-child`, await map(name))),
    play: async (name) => {
      const { uid } = await there(`${MAPS}/${name}`);
      await cluster.remove(name, 'Orphan');
      await gone(`${MAPS}/${name}`);
      await map(`${name}-late`, { apiVersion: 'v1', kind: 'ConfigMap', name, uid });
      return [`${MAPS}/${name}-late`];
    },
    isKept: async (name) => (await cluster.countOwners(`${name}-late`)) === 0,
  },
];

const isLost = async (path: string): Promise<boolean> => {
  const metadata = await there(path);
  return metadata === null || metadata.deletionTimestamp !== undefined;
};

/** It plays under a profile: what may be lost stays, or is lost. */
async function played(name: string, loss: Loss, isOurs: boolean): Promise<void> {
  const { policy = {}, prepare, play, isKept } = loss;
  await prepare(name);
  const logPath = newLog();
  const running = await startRun({ ...policy, ...(isOurs ? OURS : UPSTREAM) }, logPath);
  await cluster.working(running, `before-${name}`);
  const paths = await play(name);
  await waitUntil(`${name} to be ${isOurs ? 'kept' : 'lost'}`, COLLECTED_MS, async () =>
    isOurs ? isKept(name, running, logPath) : (await Promise.all(paths.map(isLost))).every((each) => each),
  );
  await cluster.working(running, `after-${name}`);
  for (const path of paths) expect(await isLost(path), path).toBe(!isOurs);
  await proved(running, logPath);
}

for (const [number, loss] of LOSSES.entries())
  test(`${loss.what} stays, and is lost in profile kubernetes`, async () => {
    await played(`loss-${number}-ours`, loss, true);
    await played(`loss-${number}-upstream`, loss, false);
    // A copy goes, and never what it is a copy of.
    if (loss.what.includes('S4'))
      expect(await there(`${SECRETS}/loss-${number}-upstream-original`)).not.toBeNull();
  });
