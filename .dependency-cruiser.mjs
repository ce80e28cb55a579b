import { existsSync, globSync, readdirSync } from 'node:fs';

/**
 * Who may know whom (docs/how-it-works/architecture.md, "Who may know whom"). `npm run arrows` checks it. A room is a folder of
 * `packages/`, `services/`, `cli/` or `lab/`, a folder inside of one that has a row of its own, or the files that lie in `cli/` itself.
 */
/** By room: the rooms that it may know beside itself. All but these may know `schemas/`: */
const WITHOUT_SCHEMAS = ['packages/process', 'packages/files', 'packages/text'];
const ROOMS = {
  'packages/actions': [
    'packages/canonical',
    'packages/log',
    'packages/policy',
    'packages/process',
    'packages/read-model',
    'packages/records',
  ],
  'packages/archive': [
    'packages/canonical',
    'packages/decision',
    'packages/files',
    'packages/log',
    'packages/process',
    'packages/records',
    'packages/text',
  ],
  'packages/audit': [
    'packages/archive',
    'packages/canonical',
    'packages/cri',
    'packages/decision',
    'packages/log',
    'packages/policy',
    'packages/process',
    'packages/records',
    'packages/text',
  ],
  'packages/canonical': [],
  'packages/cri': ['packages/process'],
  'packages/documents': [
    'packages/archive',
    'packages/audit',
    'packages/deciders',
    'packages/decision',
    'packages/log',
    'packages/policy',
    'packages/process',
    'packages/read-model',
    'packages/records',
    'packages/text',
  ],
  'packages/deciders': ['packages/canonical', 'packages/decision', 'packages/service'],
  'packages/decision': ['packages/canonical', 'packages/process'],
  'packages/files': ['packages/process'],
  'packages/kube-api': ['packages/process'],
  'packages/log': ['packages/files', 'packages/process', 'packages/text'],
  'packages/machine': [
    'packages/canonical',
    'packages/cri',
    'packages/files',
    'packages/process',
    'packages/text',
  ],
  'packages/owner-graph': [],
  'packages/plan': [
    'packages/deciders',
    'packages/decision',
    'packages/policy',
    'packages/records',
    'packages/text',
  ],
  'packages/policy': [
    'packages/canonical',
    'packages/decision',
    'packages/log',
    'packages/process',
    'packages/records',
    'packages/text',
  ],
  'packages/process': ['packages/text'],
  'packages/read-model': [
    'packages/archive',
    'packages/audit',
    'packages/canonical',
    'packages/deciders',
    'packages/decision',
    'packages/files',
    'packages/log',
    'packages/plan',
    'packages/policy',
    'packages/process',
    'packages/records',
    'packages/text',
  ],
  'packages/records': [
    'packages/canonical',
    'packages/decision',
    'packages/files',
    'packages/log',
    'packages/process',
    'packages/text',
  ],
  'packages/service': [
    'packages/canonical',
    'packages/decision',
    'packages/log',
    'packages/policy',
    'packages/process',
    'packages/records',
    'packages/tracing',
  ],
  'packages/text': [],
  'packages/tracing': ['packages/process'],
  'services/cluster': [
    'packages/kube-api',
    'packages/machine',
    'packages/policy',
    'packages/process',
    'packages/records',
    'packages/service',
    'services/cluster/agent',
    'services/cluster/executor',
  ],
  'services/cluster/access': ['packages/kube-api', 'services/cluster/agent'],
  'services/cluster/agent': [
    'packages/canonical',
    'packages/deciders',
    'packages/decision',
    'packages/kube-api',
    'packages/log',
    'packages/owner-graph',
    'packages/process',
    'packages/records',
  ],
  'services/cluster/ask': [
    'packages/deciders',
    'packages/decision',
    'packages/kube-api',
    'packages/log',
    'packages/owner-graph',
    'packages/process',
    'packages/records',
    'services/cluster/agent',
  ],
  'services/cluster/executor': [
    'packages/deciders',
    'packages/decision',
    'packages/kube-api',
    'packages/log',
    'packages/owner-graph',
    'packages/process',
    'packages/records',
    'packages/text',
    'services/cluster/agent',
  ],
  'services/cluster/policy-controller': [
    'packages/kube-api',
    'packages/log',
    'packages/policy',
    'packages/process',
    'packages/records',
  ],
  'services/dashboard': [
    'packages/actions',
    'packages/archive',
    'packages/audit',
    'packages/documents',
    'packages/files',
    'packages/log',
    'packages/policy',
    'packages/process',
    'packages/read-model',
    'packages/records',
    'packages/text',
  ],
  'services/dashboard/page': ['packages/documents', 'packages/text'],
  'services/deciders': [
    'packages/deciders',
    'packages/read-model',
    'packages/policy',
    'packages/process',
    'packages/records',
    'packages/service',
  ],
  'services/deciders/functions': [
    'packages/deciders',
    'packages/log',
    'packages/policy',
    'packages/process',
    'packages/records',
    'packages/service',
    'packages/text',
  ],
  'services/doctor': [
    'packages/cri',
    'packages/decision',
    'packages/files',
    'packages/read-model',
    'packages/kube-api',
    'packages/log',
    'packages/machine',
    'packages/policy',
    'packages/process',
    'packages/records',
    'packages/text',
    'services/cluster/access',
    'services/node',
    'services/node/agent',
    'services/node/executor',
  ],
  'services/node': [
    'packages/cri',
    'packages/decision',
    'packages/files',
    'packages/machine',
    'packages/plan',
    'packages/policy',
    'packages/process',
    'packages/records',
    'packages/service',
    'packages/text',
    'services/node/agent',
    'services/node/executor',
  ],
  'services/node/agent': [
    'packages/canonical',
    'packages/cri',
    'packages/decision',
    'packages/files',
    'packages/machine',
    'packages/process',
    'packages/records',
  ],
  'services/node/executor': [
    'packages/canonical',
    'packages/cri',
    'packages/deciders',
    'packages/decision',
    'packages/files',
    'packages/log',
    'packages/machine',
    'packages/process',
    'packages/records',
    'packages/text',
  ],
  'services/notices': [
    'packages/canonical',
    'packages/read-model',
    'packages/kube-api',
    'packages/log',
    'packages/policy',
    'packages/process',
    'packages/records',
    'packages/service',
    'packages/text',
  ],
  'lab/demo': [
    'cli/framework',
    'cli/options',
    'cli/run',
    'lab/sim',
    'packages/deciders',
    'packages/decision',
    'packages/documents',
    'packages/files',
    'packages/kube-api',
    'packages/log',
    'packages/policy',
    'packages/process',
    'packages/read-model',
    'packages/records',
    'packages/service',
    'packages/text',
    'services/cluster',
    'services/dashboard',
    'services/deciders',
  ],
  'lab/sim': [
    'packages/canonical',
    'packages/cri',
    'packages/decision',
    'packages/kube-api',
    'packages/log',
    'packages/machine',
    'packages/policy',
    'packages/process',
    'packages/records',
    'packages/service',
    'packages/text',
    'services/node',
    'services/node/agent',
    'services/node/executor',
  ],
  cli: ['packages/deciders', 'cli/framework', 'cli/verbs', 'packages/process', 'packages/text'],
  'cli/completion': ['cli/framework', 'packages/process'],
  'cli/framework': [
    'cli/options',
    'packages/archive',
    'packages/audit',
    'packages/decision',
    'packages/files',
    'packages/log',
    'packages/policy',
    'packages/process',
    'packages/read-model',
    'packages/records',
    'packages/service',
    'packages/text',
    'packages/tracing',
    'services/deciders/functions',
  ],
  'cli/lambda': [
    'cli/framework',
    'cli/options',
    'packages/deciders',
    'packages/process',
    'packages/records',
    'packages/service',
    'services/deciders/functions',
  ],
  'cli/options': [
    'packages/archive',
    'packages/audit',
    'packages/log',
    'packages/machine',
    'packages/policy',
    'packages/process',
    'packages/read-model',
    'packages/records',
    'packages/text',
    'packages/tracing',
    'services/deciders/functions',
  ],
  'cli/run': [
    'cli/framework',
    'cli/options',
    'packages/archive',
    'packages/audit',
    'packages/cri',
    'packages/decision',
    'packages/documents',
    'packages/log',
    'packages/plan',
    'packages/policy',
    'packages/process',
    'packages/records',
    'packages/service',
    'packages/text',
    'services/cluster',
    'services/cluster/access',
    'services/cluster/ask',
    'services/dashboard',
    'services/deciders',
    'services/node',
    'services/node/executor',
  ],
  'cli/verbs': [
    'cli/completion',
    'cli/framework',
    'cli/options',
    'cli/run',
    'lab/demo',
    'lab/sim',
    'packages/actions',
    'packages/archive',
    'packages/audit',
    'packages/deciders',
    'packages/decision',
    'packages/documents',
    'packages/files',
    'packages/kube-api',
    'packages/log',
    'packages/plan',
    'packages/policy',
    'packages/process',
    'packages/read-model',
    'packages/records',
    'packages/service',
    'packages/text',
    'services/cluster',
    'services/cluster/access',
    'services/cluster/ask',
    'services/cluster/policy-controller',
    'services/dashboard',
    'services/deciders',
    'services/deciders/functions',
    'services/doctor',
    'services/node',
    'services/notices',
  ],
};

const HOMES = ['packages', 'services', 'cli', 'lab'];
/** What measures and tries the product, and is no part of it: it may know everything, as tests may. */
const TOOLS = ['bench', 'chaos', 'compare', 'exhaustive', 'fuzz', 'mutation', 'soak'];
const TESTS = `(test|lab/(${TOOLS.join('|')}))/`;
const IN_ROOMS = `^(?!${TESTS})(${HOMES.join('|')}|schemas)/`;
/** The rooms that lie in another one, which are not part of it. */
const insideOf = (room) => Object.keys(ROOMS).filter((other) => other.startsWith(`${room}/`));
/** A home stands for its own files. */
const pathOf = (room) =>
  HOMES.includes(room)
    ? `^${room}/[^/]+$`
    : `^${room}/${insideOf(room)
        .map((inner) => `(?!${inner.slice(room.length + 1)}/)`)
        .join('')}`;

/** Rooms as they are found: the folders of each home, and a home that has files of its own. */
const found = HOMES.flatMap((home) => {
  const entries = readdirSync(home, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${home}/${name}`);
  return entries.some((entry) => entry.isFile()) ? [...folders, home] : folders;
});
const unruled = found.filter((room) => !(room in ROOMS) && !new RegExp(`^${TESTS}$`).test(`${room}/`));
const missing = Object.keys(ROOMS).filter((room) => !existsSync(room));
if (unruled.length > 0)
  throw new Error(`no row in .dependency-cruiser.mjs lists what these may import: ${unruled.join(', ')}`);
if (missing.length > 0)
  throw new Error(`.dependency-cruiser.mjs has a row for a room that does not exist: ${missing.join(', ')}`);

/** Rooms are floors: a room that imports another one is not imported by it, however long the way. */
function checkFloors(room, way = []) {
  if (way.includes(room))
    throw new Error(`rooms in .dependency-cruiser.mjs import each other: ${[...way, room].join(' -> ')}`);
  for (const below of ROOMS[room]) checkFloors(below, [...way, room]);
}
for (const room of Object.keys(ROOMS)) checkFloors(room);

const roomRules = Object.entries(ROOMS).map(([room, known]) => ({
  name: `${room.replaceAll('/', '-')}-knows-only-its-row`,
  severity: 'error',
  from: { path: pathOf(room) },
  to: {
    path: IN_ROOMS,
    pathNot: [...(WITHOUT_SCHEMAS.includes(room) ? [] : ['^schemas/']), pathOf(room), ...known.map(pathOf)],
  },
}));

const PURE_PLAN = '^packages/plan/(plan|pass|trigger)\\.ts$';

const forbidden = [
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
    from: { path: '^services/node/executor/' },
    to: { path: '^packages/deciders/', pathNot: '^packages/deciders/(image-gc|container-gc)/decide\\.ts$' },
  },
  {
    name: 'only-its-own-plan-decides-in-the-executor',
    severity: 'error',
    from: { path: '^services/node/executor/', pathNot: '^services/node/executor/own-plan\\.ts$' },
    to: { path: '^packages/deciders/' },
  },
  {
    name: 'the-cluster-executor-judges-by-the-rules',
    comment:
      'Of deciders it knows the rules alone, by which it judges anew; of the agent, how discovery is read.',
    severity: 'error',
    from: { path: '^services/cluster/executor/' },
    to: {
      path: '^(packages/deciders|services/cluster/agent)/',
      pathNot: '^(packages/deciders/(graph-gc|pod-gc|expiry-gc)/rules/|services/cluster/agent/kinds\\.ts$)',
    },
  },
  {
    name: 'the-cluster-agent-asks-the-rules',
    comment:
      'Which pods may have to go it asks the rules of pod-gc, so that it publishes no others; it knows nothing else of it.',
    severity: 'error',
    from: { path: '^services/cluster/agent/' },
    to: { path: '^packages/deciders/pod-gc/', pathNot: '^packages/deciders/pod-gc/rules/' },
  },
  {
    name: 'the-cluster-agent-tells-by-the-rules',
    comment: 'Of expiry-gc it knows the rules alone: what is published is what may be decided on.',
    severity: 'error',
    from: { path: '^services/cluster/agent/' },
    to: { path: '^packages/deciders/expiry-gc/', pathNot: '^packages/deciders/expiry-gc/rules/' },
  },
  {
    name: 'decide-is-pure',
    comment:
      'decide.ts and its rules know schemas, what deciders share, and their own folder: no clock, randomness, I/O or logger.',
    severity: 'error',
    from: {
      path: '^packages/deciders/([^/]+)/(decide|rules/.*)\\.ts$',
    },
    to: { pathNot: ['^schemas/', '^packages/decision/', '^packages/deciders/$1/'] },
  },
  {
    name: 'decide-does-not-reach-its-handler',
    severity: 'error',
    from: { path: '^packages/deciders/[^/]+/(decide\\.ts$|rules/)' },
    to: { path: '/decider\\.ts$' },
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
    from: { path: '^packages/audit/deciders/.*\\.mjs$' },
    to: { dependencyTypesNot: ['core'] },
  },
  {
    name: 'a-plan-asks-the-deciders-rules',
    comment:
      'A plan has to be what the services would decide, so it is made by their own pure functions and has none of its own: it may reach their rules, not what runs them.',
    severity: 'error',
    from: { path: '^packages/plan/' },
    to: {
      path: '^packages/deciders/',
      pathNot: [
        '^packages/deciders/(image-gc|container-gc|pressure)/rules/',
        '^packages/deciders/image-gc/plan-images\\.ts$',
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
        '^packages/deciders/(image-gc|container-gc|pressure)/',
      ],
    },
  },
  {
    name: 'the-page-knows-what-it-shows',
    comment: 'It runs in a browser: of the product it knows the answers of the API, and texts.',
    severity: 'error',
    from: { path: '^services/dashboard/page/' },
    to: {
      path: IN_ROOMS,
      pathNot: [
        '^services/dashboard/page/',
        '^schemas/reports/',
        '^packages/(documents/(document|cluster-life)\\.ts$|text/)',
      ],
    },
  },
  {
    name: 'documents-of-the-page-run-in-a-browser',
    comment: 'Of schemas they know types, and how values are written.',
    severity: 'error',
    from: { path: '^packages/documents/(document|cluster-life|facts)\\.ts$' },
    to: {
      pathNot: ['^packages/(documents/(document|facts)\\.ts$|text/)', '^schemas/policy/value-text\\.ts$'],
      dependencyTypesNot: ['type-only'],
    },
  },
  {
    name: 'what-answers-knows-no-page',
    severity: 'error',
    from: { path: `^(${HOMES.join('|')}|schemas)/`, pathNot: '^services/dashboard/page/' },
    to: { path: ['^services/dashboard/page/', 'node_modules/(preact|uplot)/'] },
  },
  {
    name: 'the-dashboard-counts-as-the-decider',
    comment: 'Of image-gc it knows how layers are counted once, and nothing else.',
    severity: 'error',
    from: { path: '^packages/read-model/' },
    to: {
      path: '^packages/deciders/image-gc/',
      pathNot: '^packages/deciders/image-gc/rules/contents\\.ts$',
    },
  },
  {
    name: 'a-projected-event-is-a-pure-function',
    comment: 'What an event says as rows: no clock, randomness, I/O or logger.',
    severity: 'error',
    from: {
      path: '^packages/read-model/(project|project-images|rows)\\.ts$',
    },
    to: {
      path: IN_ROOMS,
      pathNot: [
        '^schemas/',
        '^packages/(decision|text)/',
        '^packages/log/port\\.ts$',
        '^packages/read-model/(project-images|rows)\\.ts$',
        '^packages/deciders/image-gc/rules/contents\\.ts$',
      ],
    },
  },
  {
    name: 'what-is-told-is-a-pure-function',
    comment:
      'What an event has people told, and who wants to hear of it: no clock, randomness, I/O or logger.',
    severity: 'error',
    from: {
      path: '^services/notices/(notices|message)\\.ts$',
    },
    to: {
      path: IN_ROOMS,
      pathNot: [
        '^schemas/',
        '^packages/(text|canonical)/',
        '^packages/policy/selector-text\\.ts$',
        '^services/notices/notices\\.ts$',
        '^packages/read-model/(holds|held-objects|project)\\.ts$',
      ],
    },
  },
  {
    name: 'only-cri-imports-grpc',
    severity: 'error',
    from: { pathNot: '^(packages/cri/|lab/chaos/node/containerd/)' },
    to: { path: 'node_modules/@grpc/' },
  },
  {
    name: 'only-an-executor-writes-to-api-servers',
    severity: 'error',
    from: { pathNot: `^(packages/kube-api/|services/cluster/executor/|${TESTS})` },
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
    from: { pathNot: `^(packages/log/kafka/client/|${TESTS})` },
    to: { path: 'node_modules/kafkajs/' },
  },
  {
    name: 'only-logs-locks-and-projections-import-sqlite',
    severity: 'error',
    from: {
      pathNot: `^(packages/(log/embedded/|files/open-file\\.ts$|read-model/(tables|store|prune|model|nodes|node|clusters|objects|images|images-on-nodes|letters|history|names|read)\\.ts$)|${TESTS})`,
    },
    to: { path: '^(node:)?sqlite$' },
  },
  {
    name: 'only-the-tracer-imports-opentelemetry',
    severity: 'error',
    from: { pathNot: `^(packages/tracing/(otlp-tracer|counted-queue)\\.ts$|${TESTS})` },
    to: { path: 'node_modules/@opentelemetry/' },
  },
  {
    name: 'the-tracer-is-loaded-where-it-is-asked-for',
    comment: 'Who asks for no traces does not load the code that sends them.',
    severity: 'error',
    from: { pathNot: `^(packages/tracing/otlp-tracer\\.ts$|${TESTS})` },
    to: {
      path: '^packages/tracing/(otlp-tracer|counted-queue)\\.ts$',
      dependencyTypesNot: ['dynamic-import', 'type-only'],
    },
  },
  {
    name: 'only-the-archive-imports-duckdb',
    severity: 'error',
    from: { pathNot: `^(packages/archive/|${TESTS})` },
    to: { path: 'node_modules/@duckdb/' },
  },
  {
    name: 'only-archives-in-object-storage-import-its-sdk',
    severity: 'error',
    from: { pathNot: `^(packages/archive/s3/|${TESTS})` },
    to: { path: 'node_modules/@(aws-sdk|smithy)/' },
  },
  {
    name: 'tests-are-not-shipped',
    severity: 'error',
    from: { path: IN_ROOMS },
    to: { path: `^${TESTS}` },
  },
  {
    name: 'only-simulating-verbs-know-the-lab',
    severity: 'error',
    from: { path: IN_ROOMS, pathNot: '^(lab/|cli/verbs/simulated\\.ts$)' },
    to: { path: '^lab/' },
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
];

/** A pattern that matches no file is a rule that can never fail. Patterns of `node_modules` and of Node.js are not checked. */
const files = globSync('{bin,cli,deploy,lab,packages,schemas,services,test}/**/*.{ts,tsx,mjs}');
const NOT_OURS = /node_modules|sqlite|rolldown/;
for (const { name, from, to } of forbidden)
  for (const pattern of [from.path, from.pathNot, to.path, to.pathNot].flat())
    if (pattern !== undefined && !NOT_OURS.test(pattern)) {
      const path = new RegExp(pattern.replace('$1', 'image-gc'));
      if (!files.some((file) => path.test(file)))
        throw new Error(`the rule ${name} of .dependency-cruiser.mjs names no file with ${pattern}`);
    }

export default {
  forbidden,
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
