import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { allowedOf, NEVER } from '../../services/cluster/access/account-rights.ts';
import { createNetwork, type TestNetwork } from '../../support/network.ts';
import { type ApiServer, startApiServer } from '../../support/nodes/api-server.ts';
import { ClusterAccounts } from '../../support/nodes/cluster-account.ts';
import { ensureDefinitions } from '../../support/toolchain/definitions.ts';
import { ensureToolchain } from '../../support/toolchain/toolchain.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { EVERYTHING, LEAST, rendered, type Values } from './helm.ts';
import { makeKeys } from './keys.ts';
import { COMMANDS, FILES, KEY_COMMANDS } from './page.ts';
import { establishDefinitions, openShell, type Shell } from './shell.ts';

/** An API server has no controllers: what is installed there is only looked at. */
let network: TestNetwork;
let server: ApiServer;
let folder: string;
let kubeconfig: string;

beforeAll(async () => {
  await ensureToolchain(['api-server', 'kubectl', 'helm', 'definitions']);
  network = await createNetwork();
  server = await startApiServer(network);
  folder = mkdtempSync(join(tmpdir(), 'fleetgc-chart-'));
  kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, stringify(server.localKubeconfig));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server?.[Symbol.asyncDispose]();
  await network?.[Symbol.asyncDispose]();
});

const READY_MS = 60_000;

const Listed = z.object({
  items: z.array(
    z.object({
      kind: z.string(),
      metadata: z.object({ name: z.string(), generation: z.int() }),
      spec: z.object({ template: z.json() }),
    }),
  ),
});
const KINDS = 'deployments,daemonsets,statefulsets,jobs';

/** Installs or upgrades; resolves to the pods of each by its name. */
async function applied(shell: Shell, values: Values): Promise<ReadonlyMap<string, string>> {
  shell.writes('values.yaml', stringify(values));
  await shell.types(
    'helm upgrade --install fleetgc deploy/helm/fleetgc --namespace parts --create-namespace --values values.yaml',
  );
  const { items } = Listed.parse(JSON.parse(await shell.types(`kubectl -n parts get ${KINDS} -o json`)));
  return new Map(
    items.map(({ kind, metadata, spec }) => [`${kind}/${metadata.name}`, JSON.stringify(spec.template)]),
  );
}

test('the API server takes every object; a changed setting or root starts every pod anew, the same ones none; another policy is another Job', async () => {
  const shell = await openShell(kubeconfig);
  const jobOf = (pods: ReadonlyMap<string, string>) => [...pods.keys()].filter((name) => /^Job/.test(name));
  const serving = (pods: ReadonlyMap<string, string>) =>
    [...pods].filter(([name]) => !/^Job/.test(name)).toSorted();
  const changedIn = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>) =>
    serving(after).filter(([name, template]) => before.get(name) !== template);

  const first = await applied(shell, EVERYTHING);
  const again = await applied(shell, EVERYTHING);
  const set = await applied(shell, { ...EVERYTHING, settings: { FLEETGC_LOG_LEVEL: 'debug' } });
  const believing = await applied(shell, { ...EVERYTHING, trust: { roots: 'fleet: other\n' } });
  const other = await applied(shell, { ...EVERYTHING, operator: { policy: 'name: other\nmode: dry-run\n' } });

  expect(first.size).toBe(13);
  expect([...again].toSorted()).toEqual([...first].toSorted());
  expect(changedIn(first, set)).toHaveLength(serving(first).length);
  expect(jobOf(set)).toEqual(jobOf(first));
  expect(changedIn(first, believing)).toHaveLength(serving(first).length);
  expect(changedIn(first, other)).toEqual([]);
  expect(jobOf(other)).toHaveLength(1);
  expect(jobOf(other)).not.toEqual(jobOf(first));
  await shell.types('helm uninstall fleetgc --namespace parts');
});

const PodOf = z.object({
  spec: z.object({
    template: z.object({
      metadata: z.looseObject({}),
      spec: z.looseObject({ volumes: z.array(z.json()) }),
    }),
    volumeClaimTemplates: z.array(z.object({ metadata: z.object({ name: z.string() }) })).default([]),
  }),
});

/** What the API server says of a pod of each in a namespace that enforces `restricted`; empty where it takes it. */
async function judged(shell: Shell, values: Values): Promise<ReadonlyMap<string, string>> {
  const verdicts = new Map<string, string>();
  for (const object of await rendered(values)) {
    const { success, data } = PodOf.safeParse(object);
    if (!success) continue;
    const { metadata, spec } = data.spec.template;
    const claims = data.spec.volumeClaimTemplates.map(({ metadata: { name } }) => ({
      name,
      persistentVolumeClaim: { claimName: name },
    }));
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, name: 'pod' },
      spec: { ...spec, volumes: [...spec.volumes, ...claims] },
    };
    shell.writes('pod.json', JSON.stringify(pod));
    const verdict = await shell.types('kubectl -n restricted create --dry-run=server -f pod.json').then(
      () => '',
      (error: Error) => error.message,
    );
    verdicts.set(`${object.kind}/${object.metadata.name}`, verdict);
  }
  return verdicts;
}

test('Pod Security "restricted" takes every pod but the node, and of the node refuses what the page names, and nothing else', async () => {
  const shell = await openShell(kubeconfig);
  await shell.types('kubectl create namespace restricted');
  await shell.types('kubectl label namespace restricted pod-security.kubernetes.io/enforce=restricted');

  const verdicts = await judged(shell, EVERYTHING);
  const exposed = await judged(shell, { ...LEAST, node: { exposeMetrics: true, split: true } });

  const named = ['host namespaces', 'restricted volume types', 'runAsNonRoot != true', 'runAsUser=0'];
  expect(
    [...verdicts].filter(([name, verdict]) => verdict !== '' && name !== 'DaemonSet/fleetgc-node'),
  ).toEqual([]);
  expect(verdicts.size).toBe(13);
  expect(violatedIn(verdicts.get('DaemonSet/fleetgc-node'))).toEqual(
    [...named, 'probe or lifecycle host'].toSorted(),
  );
  expect(violatedIn(exposed.get('DaemonSet/fleetgc-node'))).toEqual([...named, 'hostPort'].toSorted());
});

/** What `violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true), …` names, without its brackets. */
function violatedIn(verdict = ''): readonly string[] {
  const [, all = verdict] = /violates PodSecurity "restricted:latest": (.*)/.exec(verdict) ?? [];
  return all
    .replace(/ \([^)]*\)/g, '')
    .split(', ')
    .toSorted();
}

test('the API server takes what KEDA and the operator of Prometheus scale and scrape by, by their own definitions', async () => {
  const shell = await openShell(kubeconfig);
  await shell.types(`kubectl create -f ${await ensureDefinitions()}`);
  await establishDefinitions(shell);

  await applied(shell, {
    ...EVERYTHING,
    node: { exposeMetrics: true },
    deciders: { keda: { enabled: true } },
    clusterDeciders: { enabled: true, autoscaling: { enabled: true } },
    monitoring: { serviceMonitor: { enabled: true }, prometheusRule: { enabled: true } },
  });
  const kinds = 'scaledobjects,triggerauthentications,hpa,servicemonitors,podmonitors,prometheusrules';
  const made = await shell.types(`kubectl -n parts get ${kinds} -o name`);
  await shell.types('helm uninstall fleetgc --namespace parts');

  const counts = new Map<string, number>();
  for (const kind of made.split('\n').map((name) => name.split('/')[0] ?? ''))
    if (kind !== '') counts.set(kind, (counts.get(kind) ?? 0) + 1);
  expect(Object.fromEntries(counts)).toEqual({
    'scaledobject.keda.sh': 3,
    'triggerauthentication.keda.sh': 1,
    'horizontalpodautoscaler.autoscaling': 3,
    'servicemonitor.monitoring.coreos.com': 1,
    'podmonitor.monitoring.coreos.com': 1,
    'prometheusrule.monitoring.coreos.com': 1,
  });
});

test('who takes over an account of the chart has what SECURITY.md says: the policies of Kubernetes, or the pods of a kubelet', async () => {
  const shell = await openShell(kubeconfig);
  using accounts = new ClusterAccounts(server);
  const connectionOf = async (name: string) => accounts.connection(await accounts.fileFor('parts', name));
  const controllers = [
    'list fleetgc.io/garbagecollectionpolicies',
    'watch fleetgc.io/garbagecollectionpolicies',
    'patch fleetgc.io/garbagecollectionpolicies.status',
  ];
  const writing = ['create', 'patch', 'update', 'delete'].map(
    (verb) => `${verb} fleetgc.io/garbagecollectionpolicies`,
  );
  const kubelets = ['get /nodes.pods', 'get /nodes.proxy', 'create /nodes.proxy'];
  const everyday = ['get /pods', 'list /pods', 'list /nodes', 'get /configmaps', 'list /configmaps'];
  const asked = [...controllers, ...writing, ...kubelets, ...everyday, ...NEVER];

  await applied(shell, EVERYTHING);
  {
    using controller = await connectionOf('fleetgc-policy-controller');
    using node = await connectionOf('fleetgc-node');
    await waitUntil('the accounts to have their rights', READY_MS, async () => {
      const [ofController, ofNode] = [
        await allowedOf(controller, controllers),
        await allowedOf(node, ['get /nodes.pods']),
      ];
      return ofController.length === controllers.length && ofNode.length === 1;
    });
    expect(await allowedOf(controller, asked)).toEqual(controllers);
    expect(await allowedOf(node, asked)).toEqual(['get /nodes.pods']);
    await applied(shell, { ...EVERYTHING, node: { kubelet: { grantNodesProxy: true } } });
    await waitUntil('the wider right', READY_MS, async () => {
      return (await allowedOf(node, ['get /nodes.proxy'])).length === 1;
    });
    expect(new Set(await allowedOf(node, asked))).toEqual(new Set(['get /nodes.pods', 'get /nodes.proxy']));
  }
  await shell.types('helm uninstall fleetgc --namespace parts');
});

const SecretNames = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });

test('the commands of the page make the keys, logins and Secrets that the pods wait for', async () => {
  const shell = await openShell(kubeconfig);
  await makeKeys(shell.file);
  for (const name of ['ca.pem', 'nodes-password', 'deciders-password', 'operators-password'])
    shell.writes(name, name);
  shell.writes('policy.yaml', shell.reads('deploy/helm/policy.yaml'));
  const { kafka, ...settings } = parsed(FILES.settings);
  shell.writes(
    'fleetgc.yaml',
    stringify({ ...settings, kafka: { ...kafka, ...parsed(FILES.passwords).kafka } }),
  );

  for (const command of COMMANDS) {
    if (/^docker |^helm (upgrade|rollback|uninstall) |rollout status|delete namespace/.test(command))
      continue;
    await shell.types(command.replace(' --wait --wait-for-jobs --timeout 10m', ''));
  }
  for (const command of KEY_COMMANDS) await shell.types(command);

  const secret = (name: string): Promise<string> =>
    shell.types(`kubectl -n fleetgc get secret ${name} -o jsonpath='{.data.key\\.pem}'`);
  const inBase64 = (name: string): string => Buffer.from(shell.reads(name)).toString('base64');
  expect(await secret('fleetgc-signing-deciders')).toBe(inBase64('decider-2.pem'));
  expect(await secret('fleetgc-signing-operators')).toBe(inBase64('operator.pem'));
  const pods = await shell.types(`kubectl -n fleetgc get ${KINDS} -o json`);
  const waitedFor = [...pods.matchAll(/"secretName": "([^"]+)"/g)].map(([, name = '']) => name);
  const { items } = SecretNames.parse(
    JSON.parse(await shell.types('kubectl -n fleetgc get secrets -o json')),
  );
  const made = items.map(({ metadata }) => metadata.name).filter((name) => !name.startsWith('sh.helm.'));
  expect([...new Set(waitedFor)].toSorted()).toEqual(made.toSorted());
  const roots = "kubectl -n fleetgc get configmap fleetgc-roots -o jsonpath='{.data.roots\\.yaml}'";
  expect(await shell.types(roots)).toBe(shell.reads('roots.yaml'));
});

const Settings = z.looseObject({ kafka: z.looseObject({}) });
const parsed = (text: string): z.infer<typeof Settings> => Settings.parse(parse(text));

test('the API server takes what "helm template" writes from kubectl, and the same again changes no pod', async () => {
  const shell = await openShell(kubeconfig);
  const template = 'helm template fleetgc deploy/helm/fleetgc --namespace templated --values values.yaml';
  const apply = async () => {
    const told = await shell.types(`${template} | kubectl apply -f -`);
    const { items } = Listed.parse(
      JSON.parse(await shell.types(`kubectl -n templated get ${KINDS} -o json`)),
    );
    return {
      told,
      states: items.map(({ kind, metadata }) => `${kind}/${metadata.name} ${metadata.generation}`),
    };
  };
  shell.writes('values.yaml', stringify(EVERYTHING));
  await shell.types('kubectl create namespace templated');

  const first = await apply();
  const again = await apply();
  await shell.types(`${template} | kubectl delete --wait=false -f -`);

  expect(first.told).toContain('daemonset.apps/fleetgc-node created');
  expect(first.states).toHaveLength(13);
  expect(again.told).not.toContain('created');
  expect(again.states).toEqual(first.states);
});
