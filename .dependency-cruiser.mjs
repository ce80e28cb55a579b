import { readdirSync } from 'node:fs';

/**
 * Who may know whom (docs/how-it-works/architecture.md, "Who may know whom"). `npm run arrows` checks it. A room is a folder of
 * `packages/`, `services/`, `cli/` or `sim/`, or the files that lie in one of these four themselves; each has a row here.
 */
const PLATFORM = ['packages/process', 'packages/files'];
const MESSAGES = [
  'packages/canonical',
  'packages/event-log',
  'packages/decision',
  'packages/pipeline',
  'packages/trust',
];
const NODE = ['packages/cri', 'packages/kubelet', 'packages/machine'];
const NODE_DECIDERS = ['services/pressure', 'services/container-gc', 'services/image-gc'];
const CLUSTER_DECIDERS = ['services/graph-gc', 'services/expiry-gc'];
const DECISION_SERVICE = ['packages/canonical', 'packages/decision', 'packages/pipeline', 'packages/service'];

/** By room: the rooms that it may know beside itself. All but these three may know `schemas/`: */
const WITHOUT_SCHEMAS = ['packages/process', 'packages/files', 'packages/text'];
const ROOMS = {
  // What a person reads of it leaves by the one way that escapes what others wrote.
  'packages/process': ['packages/text'],
  'packages/text': [],
  'packages/canonical': [],
  'packages/files': ['packages/process'],
  'packages/kubelet': ['packages/process', 'packages/text'],
  'packages/cri': ['packages/process', 'packages/text', 'packages/kubelet'],
  'packages/machine': [...PLATFORM, 'packages/text', 'packages/canonical', 'packages/cri'],
  'packages/event-log': [...PLATFORM, 'packages/text'],
  'packages/decision': ['packages/process', 'packages/canonical'],
  'packages/trust': [
    'packages/process',
    'packages/files',
    'packages/text',
    'packages/canonical',
    'packages/event-log',
  ],
  'packages/pipeline': [
    'packages/text',
    ...PLATFORM,
    'packages/canonical',
    'packages/event-log',
    'packages/decision',
    'packages/trust',
  ],
  'packages/policy': [...MESSAGES, 'packages/process', 'packages/text'],
  'packages/tracing': ['packages/process'],
  'packages/service': [...MESSAGES, 'packages/process', 'packages/policy', 'packages/tracing'],
  'packages/fleet-watch': ['packages/process', 'packages/text', 'packages/event-log', 'packages/decision'],
  'packages/work-queue': [],
  'packages/owner-graph': [],
  'packages/kube-api': ['packages/process', 'packages/text'],

  'services/node-agent': [
    ...PLATFORM,
    ...NODE,
    'packages/canonical',
    'packages/decision',
    'packages/pipeline',
  ],
  'services/node-executor': [
    'packages/text',
    ...PLATFORM,
    ...NODE,
    ...MESSAGES,
    // What goes is what the node itself would remove; 'the-executor-decides-by-the-deciders' says how.
    'services/container-gc',
    'services/image-gc',
  ],
  'services/cluster-agent': [
    // How owners went while an earlier agent ran stands on the log alone.
    'packages/event-log',
    'packages/trust',
    'packages/process',
    'packages/canonical',
    'packages/decision',
    'packages/pipeline',
    'packages/kube-api',
    'packages/owner-graph',
    // What nothing calls for is not published; 'the-cluster-agent-asks-the-rules' says how.
    'services/pod-gc',
    // When the time of an object is over is what a decision goes by; 'the-cluster-agent-tells-by-the-rules' says how.
    'services/expiry-gc',
  ],
  'services/cluster': [
    'packages/process',
    'packages/machine',
    'packages/pipeline',
    'packages/policy',
    'packages/service',
    'packages/kube-api',
    'services/cluster-agent',
    'services/cluster-executor',
  ],
  // What is printed for others to apply; it reads discovery as the agent does.
  'services/cluster-access': ['packages/kube-api', 'services/cluster-agent'],
  'services/cluster-holds': [
    'packages/process',
    'packages/text',
    'packages/canonical',
    'packages/decision',
    'packages/event-log',
    'packages/pipeline',
    'packages/policy',
    'packages/trust',
    // What is held is decided again, by the rules of who decides.
    'services/expiry-gc',
    'services/graph-gc',
    'services/pod-gc',
  ],
  'services/cluster-leftovers': [
    'packages/process',
    'packages/kube-api',
    'packages/owner-graph',
    'services/cluster-agent',
  ],
  'services/cluster-undo': [
    'packages/text',
    'packages/process',
    'packages/event-log',
    'packages/pipeline',
    'packages/owner-graph',
  ],
  'services/cluster-report': [
    'packages/process',
    'packages/event-log',
    'packages/pipeline',
    'services/cluster-holds',
  ],
  // It asks the decider itself, on the graph that an agent would have.
  'services/cluster-plan': [
    'packages/process',
    'packages/decision',
    'packages/kube-api',
    'packages/owner-graph',
    'services/cluster-agent',
    // Which kinds the printed role leaves out.
    'services/cluster-access',
    ...CLUSTER_DECIDERS,
    'services/pod-gc',
  ],
  'services/cluster-executor': [
    'packages/text',
    ...MESSAGES,
    'packages/process',
    'packages/policy',
    'packages/kube-api',
    'packages/owner-graph',
    'packages/work-queue',
    // What goes is what the rules let go; 'the-cluster-executor-judges-by-the-rules' says how.
    ...CLUSTER_DECIDERS,
    'services/pod-gc',
    'services/cluster-agent',
  ],
  'services/cri-proxy': ['packages/process', 'packages/cri'],
  'services/node': [
    ...PLATFORM,
    ...NODE,
    'packages/text',
    'packages/pipeline',
    'packages/policy',
    'packages/service',
    'services/node-agent',
    'services/node-executor',
  ],
  'services/pressure': [...DECISION_SERVICE, 'packages/fleet-watch'],
  'services/container-gc': DECISION_SERVICE,
  'services/image-gc': DECISION_SERVICE,
  'services/graph-gc': [...DECISION_SERVICE, 'packages/fleet-watch'],
  'services/pod-gc': DECISION_SERVICE,
  'services/expiry-gc': DECISION_SERVICE,
  'services/deciders': [
    'packages/process',
    'packages/pipeline',
    'packages/policy',
    'packages/service',
    ...NODE_DECIDERS,
    ...CLUSTER_DECIDERS,
    'services/pod-gc',
  ],
  // Each decision service as a function of one event.
  'services/functions': [
    'packages/process',
    'packages/text',
    'packages/event-log',
    'packages/pipeline',
    'packages/policy',
    'packages/service',
    'packages/trust',
    ...NODE_DECIDERS,
    ...CLUSTER_DECIDERS,
    'services/pod-gc',
  ],
  'services/plan': [
    ...PLATFORM,
    ...NODE,
    'packages/text',
    'packages/decision',
    'packages/pipeline',
    'packages/policy',
    ...NODE_DECIDERS,
    'services/node-agent',
    'services/node',
  ],
  'services/audit': [
    ...PLATFORM,
    ...MESSAGES,
    'packages/cri',
    'packages/policy',
    'packages/service',
    'packages/text',
  ],
  // It looks at what agent and executor of this machine have, and at the log with their login.
  'services/doctor': [
    ...PLATFORM,
    ...NODE,
    'packages/decision',
    'packages/event-log',
    'packages/pipeline',
    'packages/policy',
    'packages/trust',
    'packages/text',
    'packages/fleet-watch',
    'packages/kube-api',
    'services/cluster-access',
    'services/cluster-report',
    'services/node',
    'services/node-agent',
    'services/node-executor',
  ],
  'services/dead-letters': [
    'packages/text',
    'packages/process',
    'packages/canonical',
    'packages/event-log',
    'packages/pipeline',
  ],
  'services/fleet-status': [
    'packages/process',
    'packages/event-log',
    'packages/decision',
    'packages/pipeline',
    'packages/policy',
    'packages/text',
    'packages/fleet-watch',
    'services/cluster-holds',
    'services/dead-letters',
  ],
  // The page knows what it asks and shows, and nothing that answers it; 'the-page-knows-what-it-shows' says how.
  'services/dashboard': [
    'packages/process',
    'packages/files',
    'packages/text',
    'packages/event-log',
    'packages/decision',
    'packages/pipeline',
    'packages/policy',
    'packages/fleet-watch',
    'packages/trust',
    // Reports and lives are made by the functions of the verbs.
    'services/audit',
    'services/cluster-holds',
    'services/cluster-plan',
    'services/dead-letters',
    'services/fleet-status',
    // What images take is counted as they are removed; 'the-dashboard-counts-as-the-decider' says how.
    'services/image-gc',
    // What would go next, and why the rest stays, is what `fleetgc plan` says.
    'services/plan',
    'services/audit',
  ],

  // It writes policies of one cluster, and reads what nodes tell of themselves.
  'services/policy-controller': [
    'packages/process',
    'packages/event-log',
    'packages/pipeline',
    'packages/policy',
    'packages/kube-api',
  ],

  // It tells what lies on the log, and writes nothing there.
  'services/notices': [
    'packages/process',
    'packages/text',
    'packages/canonical',
    'packages/event-log',
    'packages/pipeline',
    'packages/trust',
    'packages/policy',
    'packages/service',
    'packages/fleet-watch',
    'packages/kube-api',
    'services/cluster-holds',
    'services/dead-letters',
  ],

  'sim/runtime': ['packages/process', 'packages/canonical', 'packages/cri', 'packages/machine'],
  'sim/kubelet': ['packages/process', 'packages/canonical', 'packages/kubelet', 'sim/runtime'],
  'sim/node': ['packages/cri', 'packages/machine', 'sim/runtime', 'sim/kubelet'],
  'sim/api-server': ['packages/process', 'packages/kube-api'],
  'sim/workload': ['packages/process', 'sim/runtime', 'sim/kubelet', 'sim/node'],
  'sim/fleet': [
    'packages/process',
    'packages/canonical',
    ...NODE,
    'sim/runtime',
    'sim/kubelet',
    'sim/workload',
  ],
  'sim/fleet-run': [
    ...PLATFORM,
    ...NODE,
    ...MESSAGES,
    'packages/policy',
    'packages/service',
    'packages/text',
    'services/node',
    'services/node-agent',
    'services/node-executor',
    'sim/fleet',
    'sim/workload',
  ],
  sim: ['packages/machine', 'packages/service', 'services/node', 'sim/workload', 'sim/node'],

  'cli/options': [
    'packages/process',
    'packages/machine',
    'packages/text',
    'packages/event-log',
    'packages/decision',
    'packages/pipeline',
    'packages/policy',
    'packages/trust',
    'packages/tracing',
    'services/audit',
    'services/dead-letters',
    'services/functions',
  ],
  'cli/framework': [
    'packages/process',
    'packages/files',
    'packages/text',
    'packages/event-log',
    'packages/pipeline',
    'packages/policy',
    'packages/trust',
    'packages/tracing',
    'packages/service',
    'services/audit',
    'cli/options',
    'services/dashboard',
    'services/functions',
  ],
  'cli/views': [
    'packages/process',
    'packages/text',
    'packages/event-log',
    'packages/decision',
    'packages/pipeline',
    'packages/policy',
    'packages/trust',
    'packages/service',
    'services/audit',
    'services/cluster-access',
    'services/cluster-holds',
    'services/cluster-plan',
    'services/cluster-undo',
    'services/dead-letters',
    'services/plan',
    'cli/options',
    'cli/framework',
  ],
  'cli/demo': [
    'packages/process',
    'packages/files',
    'packages/text',
    'packages/event-log',
    'packages/decision',
    'packages/pipeline',
    'packages/policy',
    'packages/service',
    'packages/trust',
    'packages/kube-api',
    'services/cluster',
    'services/cluster-plan',
    // Its command that approves is the one that `held` prints.
    'services/cluster-holds',
    // It ends with the page of its own log.
    'services/dashboard',
    'services/deciders',
    'sim',
    'sim/api-server',
    'cli/options',
    'cli/framework',
    'cli/views',
    // The second act is told as `cluster run` tells it.
    'cli/run',
  ],
  'cli/run': [
    'packages/process',
    'packages/text',
    'packages/cri',
    'packages/event-log',
    'packages/decision',
    'packages/pipeline',
    'packages/policy',
    'packages/service',
    'packages/trust',
    'services/cluster',
    'services/dashboard',
    'services/deciders',
    'services/node',
    'services/node-executor',
    'cli/options',
    'cli/framework',
    'cli/views',
  ],
  'cli/verbs': [
    'packages/process',
    'packages/files',
    'packages/text',
    'packages/event-log',
    'packages/decision',
    'packages/pipeline',
    'packages/policy',
    'packages/trust',
    'packages/service',
    'packages/kube-api',
    'services/audit',
    'services/cluster',
    'services/cluster-access',
    'services/cluster-holds',
    'services/cluster-leftovers',
    'services/cluster-plan',
    'services/cluster-report',
    'services/cluster-undo',
    'services/cri-proxy',
    'services/dashboard',
    'services/dead-letters',
    'services/deciders',
    'services/doctor',
    'services/fleet-status',
    'services/functions',
    'services/node',
    'services/notices',
    'services/plan',
    'services/policy-controller',
    'sim',
    'sim/fleet-run',
    'cli/options',
    'cli/framework',
    'cli/views',
    'cli/demo',
    'cli/run',
  ],
  // What AWS Lambda calls, in the place of a command line.
  'cli/lambda': [
    'packages/process',
    'packages/pipeline',
    'services/functions',
    'cli/options',
    'cli/framework',
  ],
  cli: ['packages/process', 'packages/text', 'cli/framework', 'cli/verbs'],
};

const HOMES = ['packages', 'services', 'cli', 'sim'];
/** Rooms as they are found: the folders of each home, and a home that has files of its own. */
const found = HOMES.flatMap((home) => {
  const entries = readdirSync(home, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${home}/${name}`);
  return entries.some((entry) => entry.isFile()) ? [...folders, home] : folders;
});
const unruled = found.filter((room) => !(room in ROOMS));
const missing = Object.keys(ROOMS).filter((room) => !found.includes(room));
if (unruled.length > 0)
  throw new Error(`no row in .dependency-cruiser.mjs says what these may know: ${unruled.join(', ')}`);
if (missing.length > 0)
  throw new Error(`.dependency-cruiser.mjs has a row for what is not there: ${missing.join(', ')}`);

/** A home stands for its own files. */
const pathOf = (room) => (HOMES.includes(room) ? `^${room}/[^/]+$` : `^${room}/`);
const IN_ROOMS = `^(${HOMES.join('|')}|schemas)/`;

const roomRules = Object.entries(ROOMS).map(([room, known]) => ({
  name: `${room.replaceAll('/', '-')}-knows-only-its-row`,
  severity: 'error',
  from: { path: pathOf(room) },
  to: {
    path: IN_ROOMS,
    pathNot: [...(WITHOUT_SCHEMAS.includes(room) ? [] : ['^schemas/']), pathOf(room), ...known.map(pathOf)],
  },
}));

const PURE_PLAN = '^services/plan/(plan|pass|trigger|objects)\\.ts$';

export default {
  forbidden: [
    ...roomRules,
    {
      name: 'no-circular',
      comment: 'A ring of modules cannot be read from either end.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'schemas-know-nobody',
      severity: 'error',
      from: { path: '^schemas/' },
      to: { path: `^(${HOMES.join('|')}|test)/` },
    },
    {
      name: 'the-build-knows-no-room',
      comment: 'It bundles the program by its entry; what it imported would run while the program is made.',
      severity: 'error',
      from: { path: '^bin/' },
      to: { path: `^(${HOMES.join('|')}|schemas|test)/` },
    },
    {
      name: 'the-executor-decides-by-the-deciders',
      comment:
        'What goes is what the node itself would remove: the pure decide.ts of image-gc and container-gc is a library, and nothing else of them is.',
      severity: 'error',
      from: { path: '^services/node-executor/' },
      to: { path: '^services/(image-gc|container-gc)/', pathNot: '/decide\\.ts$' },
    },
    {
      name: 'only-its-own-plan-decides-in-the-executor',
      severity: 'error',
      from: { path: '^services/node-executor/', pathNot: '^services/node-executor/checks/own-plan\\.ts$' },
      to: { path: '^services/(image-gc|container-gc)/' },
    },
    {
      name: 'the-cluster-executor-judges-by-the-rules',
      comment:
        'Of deciders it knows the rules alone, by which it judges anew; of the agent, how discovery is read.',
      severity: 'error',
      from: { path: '^services/cluster-executor/' },
      to: {
        path: '^services/(graph-gc|pod-gc|expiry-gc|cluster-agent)/',
        pathNot: '^services/((graph-gc|pod-gc|expiry-gc)/rules/|cluster-agent/kinds/served-kinds\\.ts$)',
      },
    },
    {
      name: 'the-cluster-agent-asks-the-rules',
      comment:
        'Which pods may have to go it asks the rules of pod-gc, so that it publishes no others; it knows nothing else of it.',
      severity: 'error',
      from: { path: '^services/cluster-agent/' },
      to: { path: '^services/pod-gc/', pathNot: '^services/pod-gc/rules/' },
    },
    {
      name: 'the-cluster-agent-tells-by-the-rules',
      comment: 'Of expiry-gc it knows the rules alone: what is published is what may be decided on.',
      severity: 'error',
      from: { path: '^services/cluster-agent/' },
      to: { path: '^services/expiry-gc/', pathNot: '^services/expiry-gc/rules/' },
    },
    {
      name: 'decide-is-pure',
      comment:
        'decide.ts and its rules know schemas, what deciders share, and their own folder: no clock, randomness, I/O or logger.',
      severity: 'error',
      from: {
        path: '^services/(pressure|container-gc|image-gc|graph-gc|pod-gc|expiry-gc)/(decide|rules/.*)\\.ts$',
      },
      to: { pathNot: ['^schemas/', '^packages/decision/', '^services/$1/'] },
    },
    {
      name: 'decide-does-not-reach-its-handler',
      severity: 'error',
      from: { path: '^services/(pressure|container-gc|image-gc|graph-gc|pod-gc)/(decide\\.ts$|rules/)' },
      to: { path: '/(handler|main)\\.ts$' },
    },
    {
      name: 'what-deciders-share-is-pure',
      comment: 'Hashing is as pure, and so is the error that a decider throws.',
      severity: 'error',
      from: { path: '^packages/decision/' },
      to: {
        pathNot: [
          '^schemas/',
          '^packages/(decision|canonical)/',
          '^packages/process/(errors|trace)\\.ts$',
          'node_modules/zod/',
        ],
      },
    },
    {
      name: 'frozen-deciders-stand-alone',
      comment: 'What was frozen needs Node.js alone, so that it runs for ever.',
      severity: 'error',
      from: { path: '^services/audit/deciders/.*\\.mjs$' },
      to: { dependencyTypesNot: ['core'] },
    },
    {
      name: 'a-plan-asks-the-deciders-rules',
      comment:
        'A plan has to be what the services would decide, so it is made by their own pure functions and has none of its own: it may reach their rules, not what runs them.',
      severity: 'error',
      from: { path: '^services/plan/' },
      to: {
        path: '^services/(image-gc|container-gc|pressure)/',
        pathNot: [
          '^services/(image-gc|container-gc|pressure)/rules/',
          '^services/image-gc/plan-images\\.ts$',
        ],
      },
    },
    {
      name: 'a-plan-is-pure',
      comment: 'Around it requests are read; the plan itself knows no clock, randomness, I/O or logger.',
      severity: 'error',
      from: { path: PURE_PLAN },
      to: {
        pathNot: [
          '^schemas/',
          '^packages/decision/',
          PURE_PLAN,
          '^services/(image-gc|container-gc|pressure)/',
        ],
      },
    },
    {
      name: 'only-a-look-at-this-machine-knows-a-node',
      comment: 'A plan for any inventory needs no node; services/plan/live takes one of this machine.',
      severity: 'error',
      from: { path: '^services/plan/', pathNot: '^services/plan/live/' },
      to: { path: '^(services/node|packages/(cri|kubelet|machine))' },
    },
    {
      name: 'the-page-knows-what-it-shows',
      comment: 'It runs in a browser: of the product it knows the answers of the API, and texts.',
      severity: 'error',
      from: { path: '^services/dashboard/page/' },
      to: {
        path: IN_ROOMS,
        pathNot: ['^services/dashboard/page/', '^schemas/reports/', '^packages/text/'],
      },
    },
    {
      name: 'what-answers-knows-no-page',
      severity: 'error',
      from: { path: '^(cli|packages|schemas|services|sim)/', pathNot: '^services/dashboard/page/' },
      to: { path: ['^services/dashboard/page/', 'node_modules/(preact|uplot)/'] },
    },
    {
      name: 'the-dashboard-counts-as-the-decider',
      comment: 'Of image-gc it knows how layers are counted once, and nothing else.',
      severity: 'error',
      from: { path: '^services/dashboard/' },
      to: { path: '^services/image-gc/', pathNot: '^services/image-gc/rules/contents\\.ts$' },
    },
    {
      name: 'a-projected-event-is-a-pure-function',
      comment: 'What an event says as rows: no clock, randomness, I/O or logger.',
      severity: 'error',
      from: {
        path: '^services/dashboard/projection/(project|project-clusters|disk-rows|held-rows|letter-rows|name-rows|bounded-text|rows|cluster-rows|coverage)\\.ts$',
      },
      to: {
        path: IN_ROOMS,
        pathNot: [
          '^schemas/',
          '^packages/(decision|text)/',
          '^packages/event-log/port\\.ts$',
          '^services/dashboard/projection/(project-clusters|disk-rows|held-rows|letter-rows|name-rows|bounded-text|rows|cluster-rows)\\.ts$',
          '^services/image-gc/rules/contents\\.ts$',
        ],
      },
    },
    {
      name: 'what-is-told-is-a-pure-function',
      comment:
        'What an event has people told, and who wants to hear of it: no clock, randomness, I/O or logger.',
      severity: 'error',
      from: {
        path: '^services/notices/(decide|notice|matching|told/.*|delivery/(pace|attempts|joined|message))\\.ts$',
      },
      to: {
        path: IN_ROOMS,
        pathNot: [
          '^schemas/',
          '^packages/(text|canonical)/',
          '^packages/policy/selector-text\\.ts$',
          '^packages/process/(durations|backoff)\\.ts$',
          '^services/notices/(notice|matching|told/.*|delivery/(pace|attempts|joined|message))\\.ts$',
          '^services/cluster-holds/(holds|held-objects)\\.ts$',
          '^services/dead-letters/letters\\.ts$',
        ],
      },
    },
    {
      name: 'only-cri-imports-grpc',
      severity: 'error',
      from: { pathNot: '^(packages/cri/|test/chaos/node/containerd/)' },
      to: { path: 'node_modules/@grpc/' },
    },
    {
      name: 'only-an-executor-writes-to-api-servers',
      severity: 'error',
      from: { pathNot: '^(packages/kube-api/|services/cluster-executor/|test/)' },
      to: { path: '^packages/kube-api/write\\.ts$' },
    },
    {
      name: 'the-owner-graph-is-pure',
      comment: 'The agent and a plan share it: no clock, randomness, I/O or logger.',
      severity: 'error',
      from: { path: '^packages/owner-graph/' },
      to: { pathNot: ['^schemas/', '^packages/owner-graph/'] },
    },
    {
      name: 'only-the-kafka-client-imports-kafkajs',
      severity: 'error',
      from: { pathNot: '^(packages/event-log/kafka/client/|test/)' },
      to: { path: 'node_modules/kafkajs/' },
    },
    {
      name: 'only-logs-locks-and-projections-import-sqlite',
      severity: 'error',
      from: {
        pathNot:
          '^(packages/(event-log/embedded/|files/open-file\\.ts$)|services/dashboard/(projection|readers)/|test/)',
      },
      to: { path: '^(node:)?sqlite$' },
    },
    {
      name: 'only-the-tracer-imports-opentelemetry',
      severity: 'error',
      from: { pathNot: '^(packages/tracing/(otlp-tracer|counted-queue)\\.ts$|test/)' },
      to: { path: 'node_modules/@opentelemetry/' },
    },
    {
      name: 'the-tracer-is-loaded-where-it-is-asked-for',
      comment: 'Who asks for no traces does not load the code that sends them.',
      severity: 'error',
      from: { pathNot: '^(packages/tracing/otlp-tracer\\.ts$|test/)' },
      to: {
        path: '^packages/tracing/(otlp-tracer|counted-queue)\\.ts$',
        dependencyTypesNot: ['dynamic-import', 'type-only'],
      },
    },
    {
      name: 'only-the-archive-imports-duckdb',
      severity: 'error',
      from: { pathNot: '^(services/audit/archive/|test/)' },
      to: { path: 'node_modules/@duckdb/' },
    },
    {
      name: 'only-archives-in-object-storage-import-its-sdk',
      severity: 'error',
      from: { pathNot: '^(services/audit/archive/s3/|test/)' },
      to: { path: 'node_modules/@(aws-sdk|smithy)/' },
    },
    {
      name: 'tests-are-not-shipped',
      severity: 'error',
      from: { path: IN_ROOMS },
      to: { path: '^test/' },
    },
    {
      name: 'not-to-dev-dependencies',
      severity: 'error',
      from: { path: IN_ROOMS },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'resolvable',
      severity: 'error',
      from: {},
      // The one part of a package that its `exports` alone name, which the tool does not follow.
      to: { couldNotResolve: true, pathNot: '^rolldown/parseAst$' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.js', '.mjs', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
    },
  },
};
