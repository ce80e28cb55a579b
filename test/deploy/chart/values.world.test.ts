import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { ListenAddress } from '../../../packages/process/options/options.ts';
import { DeciderName } from '../../../schemas/events/object-kinds.ts';
import { textOf, verbNamed } from '../files.ts';
import {
  CHART,
  EVERYTHING,
  helm,
  LEAST,
  notes,
  type Rendered,
  refusal,
  rendered,
  type Values,
} from './helm.ts';

/** The decision services of nodes. */
const SERVICES = DeciderName.options;

const named = (objects: readonly Rendered[], kind: string, name: string): Rendered => {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  if (found) return found;
  throw new Error(
    `there is no ${kind} ${name} among ${objects.map((each) => each.metadata.name).join(', ')}`,
  );
};
const kindsOf = (objects: readonly Rendered[]): readonly string[] =>
  objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
const withValues = (more: Values): Promise<readonly Rendered[]> => rendered({ ...LEAST, ...more });
const node = async (more: Values): Promise<string> =>
  JSON.stringify(named(await withValues({ node: more }), 'DaemonSet', 'fleetgc-node'));

test('helm lint has nothing to say', async () => {
  const { output } = await helm('lint', '--strict', CHART);
  expect(output).toContain('1 chart(s) linted, 0 chart(s) failed');
  expect(output).not.toMatch(/WARNING|ERROR/);
});

test('the notes say before Kubernetes 1.33 why no image would go', async () => {
  const says = async (kubelet: Values, kubernetes: string): Promise<boolean> =>
    (await notes({ ...LEAST, node: { kubelet } }, kubernetes)).includes('until they do no image is removed');

  expect(await says({}, 'v1.32.9-eks-1')).toBe(true);
  expect(await says({}, 'v1.33.0-eks-1')).toBe(false);
  expect(await says({ enabled: false }, 'v1.32.9')).toBe(false);
  expect(await says({ grantNodesProxy: true }, 'v1.32.9')).toBe(false);
});

test.each<{ runtime: string; node: Values; says: boolean }>([
  { runtime: 'k3s', node: { runtime: 'k3s' }, says: true },
  { runtime: 'rke2', node: { runtime: 'rke2' }, says: true },
  { runtime: 'containerd', node: { runtime: 'containerd' }, says: false },
  { runtime: 'the default', node: {}, says: false },
  { runtime: 'k3s, without nodes', node: { runtime: 'k3s', enabled: false }, says: false },
])(
  'the notes say for K3s and RKE2 alone that every image is kept, and the way out: $runtime',
  async ({ node: given, says }) => {
    const text = await notes({ ...LEAST, node: given }, 'v1.34.0');
    expect(text.includes('it keeps every image of these nodes')).toBe(says);
    expect(text.includes('then set keep.unpullable: false (docs/operating/runtimes.md)')).toBe(says);
  },
);

test('the notes name what stays of the policy controller where there is one', async () => {
  const left = 'the definition of GarbageCollectionPolicy';
  expect(await notes({ ...LEAST, policyController: { enabled: true } }, 'v1.34.0')).toContain(left);
  expect(await notes(LEAST, 'v1.34.0')).not.toContain(left);
});

describe('what is refused, in words that say what to do', () => {
  test.each<[string, Values, RegExp]>([
    ['no brokers', { ...LEAST, kafka: {} }, /kafka\.brokers is empty: name the brokers/],
    [
      'no name of the cluster',
      { ...LEAST, clusterName: '' },
      /clusterName is empty: give this cluster a name/,
    ],
    ['no roots', { ...LEAST, trust: {} }, /trust\.roots is empty/],
    [
      'an unknown key',
      { ...LEAST, node: { rutime: 'k3s' } },
      /\/node.*additional properties 'rutime' not allowed/s,
    ],
    [
      'an unknown runtime',
      { ...LEAST, node: { runtime: 'docker' } },
      /\/node\/runtime.*must be one of 'containerd', 'k3s'/s,
    ],
    ['a broker without a port', { ...LEAST, kafka: { brokers: ['kafka'] } }, /\/kafka\/brokers\/0/],
    ['a digest that is none', { ...LEAST, image: { digest: 'abc' } }, /\/image\/digest/],
    ['a variable that is none of ours', { ...LEAST, settings: { PATH: '/' } }, /\/settings.*PATH/s],
    [
      'a decision service that there is not',
      { ...LEAST, deciders: { services: { gc: {} } } },
      /services.*'gc' not allowed/s,
    ],
    [
      'two that set the replicas',
      { ...LEAST, deciders: { autoscaling: { enabled: true }, keda: { enabled: true } } },
      /deciders: autoscaling and keda would both set the number of replicas/,
    ],
    ['notices without rules', { ...LEAST, notify: { enabled: true } }, /notify\.rules is empty/],
    [
      'actions without signatures',
      { ...LEAST, trust: { mode: 'off' }, dashboard: { enabled: true, allowActions: true } },
      /dashboard\.allowActions needs signatures/,
    ],
    [
      'a certificate to log in with, without TLS',
      { ...LEAST, kafka: { brokers: ['kafka:9092'], tls: { clientCertificate: true } } },
      /needs kafka\.tls\.enabled=true/,
    ],
    [
      'the name of a file in place of what it holds',
      { ...LEAST, operator: { policy: 'policy.yaml' } },
      /operator\.policy is the text "policy\.yaml".*--set-file operator\.policy=FILE/s,
    ],
    [
      'a variable that would undo what another value says',
      { ...LEAST, settings: { FLEETGC_TRUST: 'off' } },
      /settings\.FLEETGC_TRUST: another value of the chart says this already/,
    ],
    [
      'a socket outside of what is mounted',
      { ...LEAST, node: { paths: { socket: '/run/other/containerd.sock' } } },
      /is not in socketDirectory \/run\/containerd, .*give both/s,
    ],
    [
      'a variable that nothing reads',
      { ...LEAST, settings: { FLEETGC_LOG_LEVLE: 'debug' } },
      /settings\.FLEETGC_LOG_LEVLE: nothing in the chart reads such a variable: write one of .*FLEETGC_LOG_LEVEL,/,
    ],
    [
      'a variable with a value that nothing takes',
      { ...LEAST, settings: { FLEETGC_LOG_LEVEL: 'loud' } },
      /settings\.FLEETGC_LOG_LEVEL is "loud": write one of trace, debug, info/,
    ],
    [
      'a command that brings a key beside the file of it',
      { ...LEAST, settings: { FLEETGC_SIGNING_KEY_COMMAND: 'vault kv get key' } },
      /FLEETGC_SIGNING_KEY_COMMAND: pods that sign have the keys of trust\.signingSecrets, and do not start/,
    ],
    [
      'a name of an image with its tag',
      { ...LEAST, image: { repository: 'registry.example:5000/gc:1' } },
      /image\.repository registry\.example:5000\/gc:1 has a tag or a digest: write the name alone/,
    ],
    [
      'policies of a cluster whose name cannot begin theirs',
      { ...LEAST, clusterName: 'Prod_EU', policyController: { enabled: true } },
      /policyController\.enabled: policies of the cluster Prod_EU would have no name.*apply policies from files/,
    ],
    [
      'a password in the clear',
      { ...LEAST, kafka: { brokers: ['kafka:9092'], sasl: { mechanism: 'plain' } } },
      /plain would send passwords in the clear/,
    ],
  ])('%s', async (_, values, message) => {
    expect(await refusal(values)).toMatch(message);
  });
});

describe('numbers that cannot be meant', () => {
  const resources = (path: 'requests' | 'limits', more: object): Values => ({
    ...LEAST,
    node: { resources: { [path]: more } },
  });
  const budget = (maxUnavailable: unknown): Values => ({
    ...LEAST,
    deciders: { podDisruptionBudget: { maxUnavailable } },
  });
  test.each<[string, Values, RegExp]>([
    [
      'the port of a broker',
      { ...LEAST, kafka: { brokers: ['kafka-1:9092', 'kafka-2:99999'] } },
      /kafka\.brokers\[1\] is "kafka-2:99999", whose port 99999 is none: ports go from 1 to 65535, as in kafka-1:9092/,
    ],
    ['the port 0', { ...LEAST, kafka: { brokers: ['kafka:0'] } }, /"kafka:0", whose port 0 is none/],
    [
      'a broker by an address of IPv6',
      { ...LEAST, kafka: { brokers: ['[fd00::1]:9092'] } },
      /kafka\.brokers\[0\] is "\[fd00::1\]:9092": .* write its name/,
    ],
    [
      'a port that is read as another number',
      { ...LEAST, kafka: { brokers: ['kafka:09092'] } },
      /port 09092 is none/,
    ],
    [
      'the port of the kubelet',
      { ...LEAST, node: { kubelet: { url: 'https://127.0.0.1:99999' } } },
      /node\.kubelet\.url .* port 99999 is none/,
    ],
    [
      'the port of a collector',
      { ...LEAST, traces: { otlpEndpoint: 'http://otel:70000/v1' } },
      /traces\.otlpEndpoint .* port 70000 is none/,
    ],
    [
      'the port of the page',
      { ...LEAST, dashboard: { publicUrl: 'https://gc.example:65536' } },
      /dashboard\.publicUrl .* port 65536 is none/,
    ],
    [
      'a port of a NetworkPolicy',
      { ...LEAST, networkPolicy: { kafkaPorts: [99999] } },
      /\/networkPolicy\/kafkaPorts\/0.*got 99,999, want 65,535/s,
    ],
    [
      'no ports, which would open all of them',
      { ...LEAST, networkPolicy: { apiServerPorts: [] }, notify: { ports: null } },
      /^(?=.*\/networkPolicy\/apiServerPorts': minItems: got 0, want 1)(?=.*\/notify': missing property 'ports')/s,
    ],
    [
      'fewer replicas at the most than at the least',
      { ...LEAST, deciders: { autoscaling: { minReplicas: 5, maxReplicas: 4 } } },
      /deciders\.autoscaling: minReplicas 5 is more than maxReplicas 4: give both/,
    ],
    [
      'the same by lag, where the one is the default',
      { ...LEAST, clusterDeciders: { keda: { minReplicas: 33 } } },
      /clusterDeciders\.keda: minReplicas 33 is more than maxReplicas 32/,
    ],
    [
      'a share of nothing',
      { ...LEAST, deciders: { autoscaling: { enabled: true }, resources: { requests: { cpu: null } } } },
      /deciders\.autoscaling goes by a share .* deciders\.resources\.requests\.cpu is not there: give it/,
    ],
    [
      'a budget of nobody',
      budget(0),
      /deciders\.podDisruptionBudget\.maxUnavailable is 0, and no machine .* drained.*enabled=false/,
    ],
    [
      'a budget of 0 %',
      budget('0%'),
      /maxUnavailable is 0%, .* write a number from 1, or a share from 1% to 100%/,
    ],
    ['a budget of more than all', budget('150%'), /maxUnavailable is 150%, and there are no more than all/],
    [
      'an upgrade of no node',
      { ...LEAST, node: { maxUnavailable: 0 } },
      /node\.maxUnavailable is 0, and no node would ever get another release: write a number from 1/,
    ],
    [
      'memory that is a word',
      resources('limits', { memory: 'lots' }),
      /node\.resources\.limits\.memory is "lots", which is no such number of bytes: write .* such as 512Mi/,
    ],
    ['thousandths of a byte', resources('limits', { memory: '512m' }), /limits\.memory is "512m"/],
    ['a unit that was forgotten', resources('requests', { memory: 256 }), /requests\.memory is "256"/],
    ['less than nothing', resources('requests', { memory: '-1Gi' }), /requests\.memory is "-1Gi"/],
    [
      'cores in bytes',
      resources('requests', { cpu: '1Gi' }),
      /requests\.cpu is "1Gi", which is no number of cores: write 2 for two cores, 250m/,
    ],
    [
      'a resource that there is not',
      resources('limits', { mem: '1Gi' }),
      /limits\.mem: there is no such resource: write cpu, memory/,
    ],
    [
      'a resource that is a list',
      resources('limits', { memory: ['1Gi'] }),
      /\/node\/resources\/limits\/memory.*got array/s,
    ],
    [
      'devices that are a word',
      resources('limits', { 'example.com/gpu': 'one' }),
      /limits\.example\.com\/gpu is "one", which is no quantity/,
    ],
    [
      'more asked for than allowed',
      resources('requests', { memory: '1Gi' }),
      /node\.resources: requests\.memory 1Gi is more than limits\.memory 384Mi.*raise the limit, or ask for less/,
    ],
    [
      'the same of one service, where the one is that of all',
      { ...LEAST, deciders: { services: { pressure: { resources: { limits: { memory: '64Mi' } } } } } },
      /deciders\.services\.pressure\.resources: requests\.memory 128Mi is more than limits\.memory 64Mi/,
    ],
    [
      'a volume of no size',
      { ...LEAST, cluster: { executor: { storage: 'small' } } },
      /cluster\.executor\.storage is "small"/,
    ],
    [
      'tables for which there is no room',
      { ...LEAST, dashboard: { enabled: true }, settings: { FLEETGC_PROJECTION_MAX_SIZE: '4Gi' } },
      /dashboard\.tables 3Gi is not more than the tables may take, 4Gi/,
    ],
    [
      'a time that is none',
      { ...LEAST, policyController: { countNodesEvery: '..s' } },
      /\/policyController\/countNodesEvery/,
    ],
    [
      'a misspelt toleration',
      { ...LEAST, node: { tolerations: [{ operater: 'Exists' }] } },
      /'operater' not allowed/,
    ],
    [
      'a misspelt option of SELinux',
      { ...LEAST, node: { seLinuxOptions: { typ: 'spc_t' } } },
      /'typ' not allowed/,
    ],
  ])('%s', async (_, values, message) => {
    expect(await refusal(values)).toMatch(message);
  });

  test('every container with resources of its own is looked at', async () => {
    const wrong = { resources: { limits: { memory: 'lots' } } };
    const parts: readonly Values[] = [
      { node: wrong },
      { node: { proxyResources: wrong.resources } },
      ...['operator', 'policyController', 'dashboard', 'notify', 'deciders', 'clusterDeciders'].map(
        (part) => ({ [part]: wrong }),
      ),
      ...['agent', 'executor'].map((part) => ({ cluster: { [part]: wrong } })),
      ...SERVICES.map((name) => ({ deciders: { services: { [name]: wrong } } })),
    ];
    const named = (parsed: unknown): number =>
      (JSON.stringify(parsed).match(/"\w*[rR]esources":/g) ?? []).length;
    expect(named(parse(textOf('deploy/helm/fleetgc/values.yaml'), { merge: true }))).toBe(
      parts.length - SERVICES.length,
    );
    for (const part of parts)
      expect(await refusal({ ...LEAST, ...part }), JSON.stringify(part)).toMatch(
        /\w\.\S*[rR]esources\.limits\.memory is "lots"/,
      );
  });

  test('what can be meant is taken, and a large number is written as a number', async () => {
    const made = await withValues({
      kafka: { brokers: ['kafka.example:1', 'kafka-1:65535'] },
      settings: {
        FLEETGC_API_REQUESTS_PER_SECOND: 1_000_000,
        FLEETGC_IMAGE_LAYERS: false,
        FLEETGC_WAIT: '1h',
      },
      deciders: {
        autoscaling: { minReplicas: 3, maxReplicas: 3 },
        keda: { enabled: true, lagThreshold: 1_000_000 },
        podDisruptionBudget: { maxUnavailable: '100%' },
      },
      clusterDeciders: { podDisruptionBudget: { enabled: false, maxUnavailable: 0 } },
      node: {
        maxUnavailable: 1,
        resources: {
          requests: { memory: 134_217_728, cpu: 1 },
          limits: { memory: '1e9', cpu: '1.5', 'hugepages-2Mi': '4Mi' },
        },
      },
      operator: { resources: { limits: { memory: 12_884_901_888 } } },
    });
    expect(named(made, 'ConfigMap', 'fleetgc').data).toMatchObject({
      FLEETGC_API_REQUESTS_PER_SECOND: '1000000',
      FLEETGC_IMAGE_LAYERS: 'false',
      FLEETGC_WAIT: '1h',
    });
    expect(JSON.stringify(named(made, 'ScaledObject', 'fleetgc-pressure'))).toContain(
      '"lagThreshold":"1000000"',
    );
  });

  test('the tables of the page have the room that the program gives them by itself', () => {
    const { default: most } =
      verbNamed('dashboard').options.find(({ key }) => key === 'projectionMaxSize') ?? {};
    expect(textOf('deploy/helm/fleetgc/templates/checks.yaml')).toContain(
      `"FLEETGC_PROJECTION_MAX_SIZE" | default "${most}"`,
    );
  });
});

test('no variable that the chart sets can be set anew: of two the later would win, unseen', async () => {
  const parts = [
    EVERYTHING,
    { ...EVERYTHING, node: { split: true, exposeMetrics: true, signingKeyFile: '/etc/fleetgc/node.pem' } },
    {
      ...EVERYTHING,
      dashboard: { enabled: true, allowActions: true, publicUrl: 'https://gc.example' },
      traces: { otlpEndpoint: 'http://otel' },
      kafka: { brokers: ['kafka:9092'], tls: { enabled: true, clientCertificate: true } },
    },
  ];
  const text = JSON.stringify(await Promise.all(parts.map((values) => rendered(values))));
  const set = new Set([...text.matchAll(/"(FLEETGC_[A-Z_]+)"/g)].map(([, name = '']) => name));
  expect(set.size).toBeGreaterThan(20);
  const { saidBy } = z
    .object({ saidBy: z.record(z.string(), z.string()) })
    .parse(parse(textOf('deploy/helm/fleetgc/files/settings.yaml')));
  expect([...set].filter((name) => !(name in saidBy))).toEqual([]);
  const refused = (name: string) => refusal({ ...LEAST, settings: { [name]: 'x' } });
  expect(await refused('FLEETGC_NODE_NAME')).toMatch(/NODE_NAME: the chart sets this itself, for each pod/);
  expect(await refused('FLEETGC_PUBLIC_URL')).toMatch(/says this already: say it with dashboard\.publicUrl/);
});

test('a login with a token is said by variables, since the chart has no value for it, and no other login is', async () => {
  const token = {
    FLEETGC_KAFKA_SASL_MECHANISM: 'oauthbearer',
    FLEETGC_KAFKA_TOKEN_URL: 'https://tokens.example',
    FLEETGC_KAFKA_USERNAME: 'fleetgc',
    FLEETGC_KAFKA_PASSWORD_FILE: '/etc/fleetgc/kafka/password',
  };
  const kafka = { brokers: ['kafka:9092'], tls: { enabled: true } };
  const made = await withValues({ kafka, settings: token });
  expect(named(made, 'ConfigMap', 'fleetgc').data).toMatchObject(token);
  const scram = { ...kafka, sasl: { mechanism: 'scram-sha-512' } };
  const others: readonly Values[] = [
    { kafka: scram, settings: token },
    { kafka, settings: { ...token, FLEETGC_KAFKA_SASL_MECHANISM: 'plain' } },
    { kafka, settings: { FLEETGC_KAFKA_USERNAME: 'fleetgc' } },
  ];
  for (const other of others)
    expect(await refusal({ ...LEAST, ...other })).toMatch(/settings\.FLEETGC_KAFKA_\w+: another value/);
});

const SETTINGS = z.record(z.string(), z.unknown());
const Schema = z.looseObject({
  additionalProperties: z.unknown().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
});

test('the schema names every value of values.yaml, and takes no other anywhere', async () => {
  const schema: unknown = JSON.parse(textOf('deploy/helm/fleetgc/values.schema.json'));
  const values = SETTINGS.parse(parse(textOf('deploy/helm/fleetgc/values.yaml'), { merge: true }));
  const compare = (path: string, said: unknown, value: unknown): readonly string[] => {
    const { properties, additionalProperties } = Schema.parse(said);
    if (properties === undefined) return [];
    const given = SETTINGS.parse(value);
    return [
      ...(additionalProperties === false ? [] : [`${path} is open`]),
      ...Object.keys(given)
        .filter((key) => !(key in properties))
        .map((key) => `${path}/${key} is not in the schema`),
      ...Object.entries(properties).flatMap(([key, inner]) => {
        if (!(key in given)) return OPTIONAL.has(key) ? [] : [`${path}/${key} is not in values.yaml`];
        return compare(`${path}/${key}`, inner, given[key]);
      }),
    ];
  };
  expect(compare('', schema, values)).toEqual([]);
});
/** Helm's own, and what replaces a part of something. */
const OPTIONAL: ReadonlySet<string> = new Set([
  'global',
  'socket',
  'socketDirectory',
  'dataDirectory',
  'kubeletAuthority',
  'pressure',
  'container-gc',
  'image-gc',
  'graph-gc',
  'expiry-gc',
  'pod-gc',
]);

describe('what is switched on', () => {
  test('by itself: nodes, their decision services and the operator, with nothing of a cluster, a page or notices', async () => {
    const kinds = kindsOf(await rendered(LEAST)).map((name) => name.replace(/operator-\w+/, 'operator-hash'));
    expect(kinds.toSorted()).toEqual([
      'ClusterRole/fleetgc-node',
      'ClusterRoleBinding/fleetgc-node',
      'ConfigMap/fleetgc',
      'ConfigMap/fleetgc-roots',
      'DaemonSet/fleetgc-node',
      ...SERVICES.map((name) => `Deployment/fleetgc-${name}`).toSorted(),
      'Job/fleetgc-operator-hash',
      'NetworkPolicy/fleetgc',
      ...SERVICES.map((name) => `PodDisruptionBudget/fleetgc-${name}`).toSorted(),
      'ServiceAccount/fleetgc-node',
    ]);
  });

  test('nothing, where each part is switched off', async () => {
    const off = { enabled: false };
    const made = await withValues({ node: off, deciders: off, operator: off, networkPolicy: off });
    expect(kindsOf(made)).toEqual(['ConfigMap/fleetgc', 'ConfigMap/fleetgc-roots']);
  });

  test('pods listen at every address, and nodes that show their metrics at theirs, whether it is of IPv4 or of IPv6', async () => {
    const addressesIn = (made: readonly Rendered[], kind: string): ReadonlySet<string> =>
      new Set(
        made
          .filter((object) => object.kind === kind)
          .flatMap((object) => [
            ...JSON.stringify(object).matchAll(/"FLEETGC_HTTP_ADDRESS","value":"([^"]+):\d+"/g),
          ])
          .map(([, host = '']) => host),
      );
    const exposed = { ...EVERYTHING, node: { exposeMetrics: true } };
    const made = [
      ...(await rendered(exposed)),
      ...(await rendered({ ...exposed, node: { ...exposed.node, split: true } })),
    ];
    for (const kind of ['Deployment', 'StatefulSet']) expect([...addressesIn(made, kind)]).toEqual(['[::]']);
    const [ofNodes = '', ...others] = addressesIn(made, 'DaemonSet');
    expect(others).toEqual([]);
    expect(JSON.stringify(made)).toContain(
      '"name":"HOST_ADDRESS","valueFrom":{"fieldRef":{"fieldPath":"status.hostIP"}}',
    );
    for (const host of ['10.0.0.7', 'fd00::7'])
      expect(ListenAddress.parse(`${ofNodes.replace('$(HOST_ADDRESS)', host)}:9641`)).toEqual({
        host,
        port: 9641,
      });
  });

  test('an image by its digest, and where it comes from', async () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    const made = JSON.stringify(
      await rendered({
        ...EVERYTHING,
        image: { repository: 'r.example/gc', digest, pullSecrets: [{ name: 'pull' }] },
      }),
    );
    const images = new Set([...made.matchAll(/"image":"([^"]+)"/g)].map(([, image]) => image));
    expect([...images]).toEqual([`r.example/gc@${digest}`]);
    expect(made.match(/"imagePullSecrets":\[\{"name":"pull"\}\]/g)).toHaveLength(13);
  });

  test.each([
    [
      'containerd',
      '/run/containerd/containerd.sock',
      '/var/lib/containerd',
      '/var/lib/kubelet/pki/kubelet.crt',
    ],
    [
      'k3s',
      '/run/k3s/containerd/containerd.sock',
      '/var/lib/rancher/k3s/agent/containerd',
      '/var/lib/rancher/k3s/agent/server-ca.crt',
    ],
    [
      'rke2',
      '/run/k3s/containerd/containerd.sock',
      '/var/lib/rancher/rke2/agent/containerd',
      '/var/lib/rancher/rke2/agent/server-ca.crt',
    ],
    ['crio', '/run/crio/crio.sock', '/var/lib/containers', '/var/lib/kubelet/pki/kubelet.crt'],
  ])('a node on %s', async (runtime, socket, data, authority) => {
    const made = await node({ runtime });
    expect(made).toContain(`"value":"unix://${socket}"`);
    expect(made).toContain(`"mountPath":"${socket.replace(/\/[^/]+$/, '')}"`);
    expect(made).toContain(`"hostPath":{"path":"${data}","type":"Directory"}`);
    expect(made).toContain(`{"name":"FLEETGC_KUBELET_CA_FILE","value":"${authority}"}`);
  });

  test('a node whose machine has something elsewhere, a key of its own, and SELinux', async () => {
    const made = await node({
      paths: { kubeletAuthority: '/etc/kubernetes/ca.crt' },
      signingKeyFile: '/etc/fleetgc/node.pem',
      seLinuxOptions: { type: 'spc_t' },
    });
    expect(made).toContain('{"name":"FLEETGC_KUBELET_CA_FILE","value":"/etc/kubernetes/ca.crt"}');
    expect(made).toContain('{"name":"FLEETGC_SIGNING_KEY_FILE","value":"/etc/fleetgc/node.pem"}');
    expect(made).toContain('"hostPath":{"path":"/etc/fleetgc/node.pem","type":"File"}');
    expect(made).toContain('"seLinuxOptions":{"type":"spc_t"}');
  });

  test('a node that does not ask its kubelet has no account, no token and no right', async () => {
    const made = await withValues({ node: { kubelet: { enabled: false } } });
    expect(kindsOf(made).filter((name) => /Role|Account/.test(name))).toEqual([]);
    expect(JSON.stringify(made)).not.toMatch(/KUBELET_|serviceAccountToken/);
  });

  test('the older right of a kubelet only when somebody accepts it', async () => {
    const made = await withValues({ node: { kubelet: { grantNodesProxy: true } } });
    expect(named(made, 'ClusterRole', 'fleetgc-node').rules).toEqual([
      { apiGroups: [''], resources: ['nodes/pods', 'nodes/proxy'], verbs: ['get'] },
    ]);
  });
});

describe('the number of replicas', () => {
  const spec = (objects: readonly Rendered[], kind: string, name: string) =>
    z.looseObject({}).parse(named(objects, kind, name).spec);

  test('is what the values say, of all or of one', async () => {
    const made = await withValues({ deciders: { replicas: 3, services: { 'image-gc': { replicas: 5 } } } });
    expect(spec(made, 'Deployment', 'fleetgc-pressure').replicas).toBe(3);
    expect(spec(made, 'Deployment', 'fleetgc-image-gc').replicas).toBe(5);
  });

  test('is left to whoever scales', async () => {
    const byTime = await withValues({ deciders: { autoscaling: { enabled: true, maxReplicas: 6 } } });
    expect(spec(byTime, 'Deployment', 'fleetgc-image-gc').replicas).toBeUndefined();
    expect(spec(byTime, 'HorizontalPodAutoscaler', 'fleetgc-image-gc')).toMatchObject({
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'fleetgc-image-gc' },
      minReplicas: 2,
      maxReplicas: 6,
    });
  });

  test('by the lag of the group that the service itself joins, with the login of the deciders', async () => {
    const { kafka } = EVERYTHING;
    const made = await withValues({ kafka, deciders: { keda: { enabled: true } } });
    for (const name of SERVICES) {
      expect(textOf(`packages/deciders/${name}/decider.ts`)).toContain(`group: 'fleetgc-${name}'`);
      expect(spec(made, 'Deployment', `fleetgc-${name}`).replicas).toBeUndefined();
      expect(spec(made, 'ScaledObject', `fleetgc-${name}`)).toMatchObject({
        scaleTargetRef: { name: `fleetgc-${name}` },
        triggers: [
          {
            type: 'kafka',
            metadata: {
              bootstrapServers: 'kafka-1:9092,kafka-2:9093',
              consumerGroup: `fleetgc-${name}`,
              tls: 'enable',
              sasl: 'scram_sha512',
            },
            authenticationRef: { name: 'fleetgc-kafka-deciders' },
          },
        ],
      });
    }
    expect(spec(made, 'TriggerAuthentication', 'fleetgc-kafka-deciders').secretTargetRef).toEqual(
      [
        ['ca', 'ca.pem'],
        ['password', 'password'],
        ['username', 'username'],
      ].map(([parameter, key]) => ({
        parameter,
        name: 'fleetgc-kafka-deciders',
        key,
      })),
    );
  });

  test('by lag with a prefix asks for the group by its name on the brokers', async () => {
    const kafka = { brokers: ['kafka-1:9092'], prefix: 'acme.' };
    const made = await withValues({ kafka, deciders: { keda: { enabled: true } } });
    expect(named(made, 'ConfigMap', 'fleetgc').data).toMatchObject({ FLEETGC_KAFKA_PREFIX: 'acme.' });
    expect(spec(made, 'ScaledObject', 'fleetgc-pressure')).toMatchObject({
      triggers: [{ metadata: { consumerGroup: 'acme.fleetgc-pressure' } }],
    });
    const without = await withValues({});
    expect(named(without, 'ConfigMap', 'fleetgc').data).not.toHaveProperty('FLEETGC_KAFKA_PREFIX');
    await expect(withValues({ kafka: { ...kafka, prefix: 'acme' } })).rejects.toThrow(
      /kafka\/prefix|kafka\.prefix/,
    );
  });

  test('by lag without a login needs none', async () => {
    const made = await withValues({ deciders: { keda: { enabled: true } } });
    expect(kindsOf(made)).not.toContain('TriggerAuthentication/fleetgc-kafka-deciders');
    expect(JSON.stringify(spec(made, 'ScaledObject', 'fleetgc-pressure'))).not.toContain('authenticationRef');
  });
});

describe('the network', () => {
  const Policy = z.object({
    spec: z.object({
      podSelector: z.object({
        matchLabels: z.record(z.string(), z.string()),
        matchExpressions: z.array(z.json()),
      }),
      policyTypes: z.array(z.string()),
      egress: z
        .array(
          z.object({
            ports: z.array(z.object({ protocol: z.string(), port: z.int() })).default([]),
            to: z.array(z.json()).optional(),
          }),
        )
        .default([]),
      ingress: z.array(z.object({ from: z.array(z.json()) })).default([]),
    }),
  });
  const policy = (objects: readonly Rendered[], name: string) =>
    Policy.parse(named(objects, 'NetworkPolicy', name)).spec;
  const tcpPorts = (objects: readonly Rendered[], name: string) =>
    policy(objects, name).egress.map(({ ports }) => ports.map(({ port }) => port));

  test('lets every pod but the node to DNS and to the ports of the brokers, and readers of metrics in', async () => {
    const made = await rendered(EVERYTHING);
    const { podSelector, policyTypes, ingress } = policy(made, 'fleetgc');
    expect(policyTypes).toEqual(['Ingress', 'Egress']);
    expect(podSelector.matchExpressions).toEqual([
      { key: 'app.kubernetes.io/component', operator: 'NotIn', values: ['node'] },
    ]);
    expect(tcpPorts(made, 'fleetgc')).toEqual([
      [53, 53],
      [9092, 9093],
    ]);
    expect(ingress).toHaveLength(1);
  });

  test('lets only what asks the API server to it, and only notices to receivers', async () => {
    const made = await rendered(EVERYTHING);
    expect(tcpPorts(made, 'fleetgc-api-server')).toEqual([[443, 6443]]);
    expect(tcpPorts(made, 'fleetgc-notify')).toEqual([[443]]);
    expect(kindsOf(await rendered(LEAST)).filter((name) => name.startsWith('NetworkPolicy'))).toEqual([
      'NetworkPolicy/fleetgc',
    ]);
  });

  test('lets traces out, to Kafka where it is, and a proxy to the page', async () => {
    const peers = [{ ipBlock: { cidr: '10.1.0.0/16' } }];
    const made = await rendered({
      ...EVERYTHING,
      traces: { otlpEndpoint: 'http://otel:4318' },
      networkPolicy: { kafkaTo: peers, kafkaPorts: [9094] },
      dashboard: { enabled: true, from: peers },
    });
    expect(tcpPorts(made, 'fleetgc')).toEqual([[53, 53], [9094, 9092, 9093], [4318]]);
    expect(policy(made, 'fleetgc').egress[1]?.to).toEqual(peers);
    for (const [otlpEndpoint, port] of [
      ['http://otel/v1', 80],
      ['https://otel', 443],
    ] as const)
      expect(tcpPorts(await withValues({ traces: { otlpEndpoint } }), 'fleetgc').at(-1)).toEqual([port]);
    expect(policy(made, 'fleetgc-dashboard').ingress[0]?.from).toEqual(peers);
  });
});

describe('monitoring', () => {
  test('is there when asked for: of nodes only where they serve metrics to others', async () => {
    const serviceMonitor = { enabled: true, labels: { release: 'prometheus' } };
    const central = await withValues({ monitoring: { serviceMonitor } });
    const all = await withValues({ monitoring: { serviceMonitor }, node: { exposeMetrics: true } });
    expect(named(central, 'ServiceMonitor', 'fleetgc').metadata.labels).toMatchObject({
      release: 'prometheus',
    });
    expect(kindsOf(central)).toContain('Service/fleetgc-metrics');
    expect(kindsOf(central)).not.toContain('PodMonitor/fleetgc-node');
    expect(kindsOf(all)).toContain('PodMonitor/fleetgc-node');
    expect(JSON.stringify(named(all, 'DaemonSet', 'fleetgc-node'))).toContain(
      '"value":"[$(HOST_ADDRESS)]:9641"',
    );
  });

  test('has the rules of deploy/monitoring, as they are there', async () => {
    for (const file of ['recording.yaml', 'alerts.yaml'])
      expect(
        textOf(`deploy/helm/fleetgc/files/${file}`),
        `cp deploy/monitoring/${file} deploy/helm/fleetgc/files/`,
      ).toBe(textOf(`deploy/monitoring/${file}`));
    const made = await withValues({ monitoring: { prometheusRule: { enabled: true } } });
    const Groups = z.object({ groups: z.array(z.json()) });
    const groups = ['recording.yaml', 'alerts.yaml'].flatMap(
      (file) => Groups.parse(parse(textOf(`deploy/monitoring/${file}`))).groups,
    );
    expect(Groups.parse(named(made, 'PrometheusRule', 'fleetgc').spec).groups).toEqual(groups);
  });
});

test('what signs has no key where no signature counts, also where a file says off without quotes', async () => {
  const made = await rendered({ ...EVERYTHING, trust: { mode: false }, policyController: { enabled: true } });
  expect(kindsOf(made)).toContain('Deployment/fleetgc-policy-controller');
  expect(JSON.stringify(made)).not.toMatch(/FLEETGC_SIGNING_KEY_FILE|fleetgc-signing-/);
});

test('a policy controller that is switched off by mistake takes no policy with it', async () => {
  const made = await withValues({ policyController: { enabled: true } });
  const { metadata } = named(made, 'CustomResourceDefinition', 'garbagecollectionpolicies.fleetgc.io');
  expect(metadata).toMatchObject({ annotations: { 'helm.sh/resource-policy': 'keep' } });
});

test('people act from the page only with its key and its own login', async () => {
  const looking = JSON.stringify(named(await rendered(EVERYTHING), 'Deployment', 'fleetgc-dashboard'));
  const acting = JSON.stringify(
    named(
      await rendered({
        ...EVERYTHING,
        dashboard: { enabled: true, allowActions: true, publicUrl: 'https://gc.example' },
      }),
      'Deployment',
      'fleetgc-dashboard',
    ),
  );
  expect(looking).not.toMatch(/ALLOW_ACTIONS|fleetgc-signing|fleetgc-kafka-dashboards/);
  expect(acting).toContain('{"name":"FLEETGC_ALLOW_ACTIONS","value":"true"}');
  expect(acting).toContain('"secretName":"fleetgc-signing-dashboards"');
  expect(acting).toContain('"secretName":"fleetgc-kafka-dashboards"');
  expect(acting).not.toMatch(/"name":"FLEETGC_TRUST"|fleetgc-kafka-readers/);
});

describe('who may connect', () => {
  const Policy = z.object({
    spec: z.object({
      podSelector: z.object({ matchExpressions: z.array(z.object({ values: z.array(z.string()) })) }),
      ingress: z.array(z.object({ from: z.array(z.unknown()), ports: z.array(z.unknown()) })).default([]),
    }),
  });
  const ingressOf = (objects: readonly Rendered[], name: string) =>
    Policy.parse(named(objects, 'NetworkPolicy', name)).spec.ingress;
  const inNamespace = (name: string) => ({
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
  });

  test('by default pods of the namespace of the monitoring, to health and metrics alone', async () => {
    const made = await withValues({ dashboard: { enabled: true } });
    expect(ingressOf(made, 'fleetgc')).toEqual([
      { from: [inNamespace('monitoring')], ports: [{ port: 'http' }] },
    ]);
    expect(kindsOf(made)).not.toContain('NetworkPolicy/fleetgc-dashboard');
    const elsewhere = await withValues({ monitoring: { namespace: 'prometheus' } });
    expect(ingressOf(elsewhere, 'fleetgc')).toEqual([
      { from: [inNamespace('prometheus')], ports: [{ port: 'http' }] },
    ]);
    expect(ingressOf(await withValues({ monitoring: { namespace: '' } }), 'fleetgc')).toEqual([]);
    const peers = [{ podSelector: {} }];
    expect(ingressOf(await withValues({ networkPolicy: { metricsFrom: peers } }), 'fleetgc')).toEqual([
      { from: peers, ports: [{ port: 'http' }] },
    ]);
  });

  test('whom dashboard.from names, to the page and not to its probes', async () => {
    const from = [inNamespace('ingress')];
    const made = await withValues({ dashboard: { enabled: true, from } });
    expect(ingressOf(made, 'fleetgc-dashboard')).toEqual([{ from, ports: [{ port: 'page' }] }]);
    const page = JSON.stringify(named(made, 'Deployment', 'fleetgc-dashboard'));
    expect(page).toContain('{"name":"http","containerPort":9662},{"name":"page","containerPort":9660}');
    expect(page).toContain('"FLEETGC_PROBE_ADDRESS","value":"[::]:9662"');
    expect(JSON.stringify(named(made, 'Service', 'fleetgc-dashboard'))).toContain('"targetPort":"page"');
  });
});

describe('what every pod of the chart has', () => {
  const PodTemplate = z.object({
    metadata: z.object({ labels: z.record(z.string(), z.string()) }),
    spec: z.object({
      serviceAccountName: z.string().optional(),
      securityContext: z.record(z.string(), z.unknown()).optional(),
    }),
  });
  const Workload = z.object({ spec: z.object({ template: PodTemplate }) });
  const podsOf = (objects: readonly Rendered[]) =>
    objects
      .filter(({ kind }) => ['DaemonSet', 'Deployment', 'StatefulSet', 'Job'].includes(kind))
      .map((object) => ({ name: object.metadata.name, ...Workload.parse(object).spec.template }));

  test('the release as its instance, and labels of the values, of which none changes what selects it', async () => {
    const own = { more: 'own', 'app.kubernetes.io/name': 'other' };
    const made = await rendered({
      ...EVERYTHING,
      podLabels: { team: 'storage', more: 'all', 'app.kubernetes.io/instance': 'other' },
      dashboard: { enabled: true, podLabels: own },
    });
    const pods = podsOf(made);
    expect(pods.length).toBeGreaterThan(10);
    for (const { name, metadata } of pods)
      expect(metadata.labels, name).toMatchObject({
        'app.kubernetes.io/name': 'fleetgc',
        'app.kubernetes.io/instance': 'fleetgc',
        team: 'storage',
        more: name === 'fleetgc-dashboard' ? 'own' : 'all',
      });
  });

  test('a user that the values name, or that the platform chooses', async () => {
    const restricted = async (podSecurityContext: Values) =>
      podsOf(await rendered({ ...EVERYTHING, podSecurityContext }))
        .filter(({ name }) => name !== 'fleetgc-node')
        .map(({ spec }) => spec.securityContext);
    const seccompProfile = { type: 'RuntimeDefault' };
    for (const context of await restricted({}))
      expect(context).toEqual({ runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000, seccompProfile });
    for (const context of await restricted({ runAsUser: null, fsGroup: null }))
      expect(context).toEqual({ runAsNonRoot: true, seccompProfile });
  });

  test('an account with the annotations of the values', async () => {
    const annotations = { 'iam.example/role': 'fleetgc' };
    const made = await rendered({ ...EVERYTHING, serviceAccount: { annotations } });
    const accounts = made.filter(({ kind }) => kind === 'ServiceAccount');
    for (const account of accounts) expect(account).toMatchObject({ metadata: { annotations } });
    // The accounts of the cluster's agent and executor are what "fleetgc cluster rbac" prints.
    const ofCluster = ['fleetgc-cluster-agent', 'fleetgc-cluster-executor'];
    const names = [...accounts.map(({ metadata }) => metadata.name), ...ofCluster];
    for (const { name, spec } of podsOf(made)) expect(names, name).toContain(spec.serviceAccountName);
  });
});

/** MiB that each has resident without work, as install.md says. */
const IDLE_MIB: Readonly<Record<string, number>> = {
  node: 146,
  'node-agent': 133,
  'node-executor': 115,
  'cri-proxy': 86,
  decide: 123,
};

test('no container asks for less memory than it needs without work', async () => {
  const Containers = z.object({
    spec: z.object({
      template: z.object({
        spec: z.object({
          containers: z.array(
            z.object({
              name: z.string(),
              resources: z.object({
                requests: z.object({ memory: z.string().regex(/^\d+Mi$/) }),
              }),
            }),
          ),
        }),
      }),
    }),
  });
  const made = [...(await withValues({})), ...(await withValues({ node: { split: true } }))];
  const containers = made
    .filter(({ kind }) => ['DaemonSet', 'Deployment'].includes(kind))
    .flatMap((object) => Containers.parse(object).spec.template.spec.containers);
  expect(new Set(containers.map(({ name }) => name))).toEqual(new Set(Object.keys(IDLE_MIB)));
  for (const { name, resources } of containers)
    expect(Number.parseInt(resources.requests.memory, 10), name).toBeGreaterThanOrEqual(
      IDLE_MIB[name] ?? Infinity,
    );
});
