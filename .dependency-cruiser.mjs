/**
 * Who may know whom (docs/architecture.md, "Who may know whom"). `npm run arrows` checks it.
 */
const SERVICES = 'node-agent|node-executor|pressure|container-gc|image-gc|audit|simulator';
const DECIDERS = 'pressure|container-gc|image-gc|audit';

export default {
  forbidden: [
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
      to: { path: '^(services|test)/' },
    },
    {
      name: 'shared-knows-schemas-only',
      comment: 'Plumbing has no domain word and knows no service.',
      severity: 'error',
      from: { path: '^services/shared/' },
      to: { path: '^(services/(?!shared/)|test/)' },
    },
    {
      name: 'a-service-knows-no-other-service',
      severity: 'error',
      from: { path: `^services/(${SERVICES})/`, pathNot: '^services/node-executor/own-plan\\.ts$' },
      to: { path: '^services/', pathNot: '^services/(shared|$1)/' },
    },
    {
      name: 'the-executor-decides-by-the-deciders',
      comment:
        'What goes is what the node itself would remove: the pure decide.ts of image-gc and container-gc is a library, and nothing else of them is.',
      severity: 'error',
      from: { path: '^services/node-executor/own-plan\\.ts$' },
      to: {
        path: '^services/',
        pathNot: ['^services/(shared|node-executor)/', '^services/(image-gc|container-gc)/decide\\.ts$'],
      },
    },
    {
      name: 'decide-is-pure',
      comment:
        'decide.ts and its rules know schemas, what deciders share, and their own folder: no clock, randomness, I/O or logger.',
      severity: 'error',
      from: { path: `^services/(${DECIDERS})/(decide|rules/.*)\\.ts$` },
      to: {
        pathNot: ['^schemas/', '^services/shared/decision/', '^services/$1/'],
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
        path: '^services/',
        pathNot: [
          '^services/(plan|shared|policy)/',
          '^services/(image-gc|container-gc|pressure)/rules/',
          '^services/image-gc/plan-images\\.ts$',
        ],
      },
    },
    {
      name: 'a-plan-is-pure',
      comment: 'Around it requests are read; the plan itself knows no clock, randomness, I/O or logger.',
      severity: 'error',
      from: { path: '^services/plan/(plan|pass|ordered|objects|after-containers|unpullable-note)\\.ts$' },
      to: {
        pathNot: [
          '^schemas/',
          '^services/shared/decision/',
          '^services/plan/(plan|pass|ordered|objects|after-containers|unpullable-note)\\.ts$',
          '^services/(image-gc|container-gc|pressure)/',
        ],
      },
    },
    {
      name: 'only-the-command-line-plans',
      comment: 'No service decides by a plan.',
      severity: 'error',
      from: { path: '^services/', pathNot: '^services/(plan|cli)/' },
      to: { path: '^services/plan/' },
    },
    {
      name: 'what-deciders-share-is-pure',
      severity: 'error',
      from: { path: '^services/shared/decision/' },
      // Hashing is as pure.
      to: { pathNot: ['^schemas/', '^services/shared/decision/', '^services/shared/ids\\.ts$'] },
    },
    {
      name: 'decide-does-not-reach-its-handler',
      severity: 'error',
      from: { path: `^services/(${DECIDERS})/(decide\\.ts$|rules/)` },
      to: { path: '/(handler|main)\\.ts$' },
    },
    {
      name: 'only-cri-imports-grpc',
      severity: 'error',
      from: { pathNot: '^(services/shared/cri/|test/chaos/node/containerd/)' },
      to: { path: 'node_modules/@grpc/' },
    },
    {
      name: 'only-event-log-imports-a-client-library',
      severity: 'error',
      from: { pathNot: '^(services/shared/event-log/|test/)' },
      to: { path: 'node_modules/kafkajs/' },
    },
    {
      name: 'only-the-embedded-log-and-the-state-lock-import-sqlite',
      severity: 'error',
      from: { pathNot: '^(services/shared/(event-log/embedded/|state-lock\\.ts$)|test/)' },
      to: { path: '^(node:)?sqlite$' },
    },
    {
      name: 'only-the-archive-imports-duckdb',
      severity: 'error',
      from: { pathNot: '^(services/audit/archive/|test/)' },
      to: { path: 'node_modules/@duckdb/' },
    },
    {
      name: 'tests-are-not-shipped',
      severity: 'error',
      from: { path: '^(services|schemas)/' },
      to: { path: '^test/' },
    },
    {
      name: 'not-to-dev-dependencies',
      severity: 'error',
      from: { path: '^(services|schemas)/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'resolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.mjs', '.json'] },
  },
};
