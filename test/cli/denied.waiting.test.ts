import { execFile } from 'node:child_process';
import { accessSync, chmodSync, constants, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ALL_VERBS } from '../../cli/verbs.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import type { Ran } from './support/run-verbs.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
const NOBODY = 65_534;
const BOUND_MS = 300_000;

/** Another user can be made by root alone, and has to reach the sources. */
function canBeNobody(): boolean {
  if (process.geteuid?.() !== 0) return false;
  for (let path = REPOSITORY; ; path = dirname(path)) {
    if ((statSync(path).mode & constants.X_OK) === 0) return false;
    if (path === '/') return true;
  }
}

const asNobody = (commands: readonly (readonly string[])[]): Promise<readonly Ran[]> =>
  new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        join(import.meta.dirname, 'support/run-verbs.ts'),
        JSON.stringify(commands),
      ],
      { uid: NOBODY, gid: NOBODY, timeout: BOUND_MS, env: { PATH: process.env.PATH ?? '' } },
      (error, stdout) => (error === null ? resolve(JSON.parse(stdout)) : reject(error)),
    );
  });

interface Places {
  /** Of root, with a closed file, a closed socket, and nothing else. */
  readonly at: string;
  /** Of everybody. */
  readonly own: string;
}

/** A directory of root that is closed, and one whose files are. */
async function closedPlaces(): Promise<readonly Places[]> {
  const root = temporaryDirectory();
  chmodSync(root, 0o755);
  const own = join(root, 'own');
  mkdirSync(own);
  chmodSync(own, 0o777);
  writeFileSync(join(own, 'policy.yaml'), 'name: web\nmode: dry-run\n');
  writeFileSync(join(own, 'machine-id'), 'a'.repeat(32));
  const directories = [
    [join(root, 'closed'), 0o700],
    [join(root, 'open'), 0o755],
  ] as const;
  for (const [at, mode] of directories) {
    mkdirSync(at, { mode });
    for (const name of ['file', 'manifest.jsonl']) writeFileSync(join(at, name), '', { mode: 0o600 });
    accessSync(join(at, 'file'));
    const server = createServer().listen(join(at, 'socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    chmodSync(join(at, 'socket'), 0o660);
    onTestFinished(() => void server.close());
  }
  return directories.map(([at]) => ({ at, own }));
}

type Way = (places: Places) => readonly string[];

const file = ({ at }: Places): string => join(at, 'file');
const socket = ({ at }: Places): string => join(at, 'socket');
const missing = ({ at }: Places): string => join(at, 'missing');

/** Asks an event log in a file. */
const asking =
  (...args: readonly string[]): Way =>
  (places) => [...args, '--log', 'embedded', '--log-path', file(places)];
/** The same with more, which does not matter. */
const withOwn =
  (way: (places: Places) => readonly string[]): Way =>
  (places) => [...way(places), '--log', 'embedded', '--log-path', join(places.own, 'event-log.db')];
const OWN_LOG = ([places]: readonly Places[]): readonly string[] =>
  places === undefined ? [] : withOwn(() => ['topics', 'create'])(places);
const KUBECONFIG: Way = (places) => ['--kubeconfig', file(places)];
const ON_NODE: Way = ({ own }) => [
  ...[
    '--cluster',
    'c',
    '--node-name',
    'n',
    '--nodefs-path',
    own,
    '--machine-id-file',
    join(own, 'machine-id'),
  ],
];
const ON_KAFKA = ['--log', 'kafka', '--kafka-brokers', '127.0.0.1:1', '--http-address', 'none'];
/** A file of Kafka's settings. */
const CA_FILE: Way = (places) => [...ON_KAFKA, '--kafka-ca-file', file(places)];
const AS_NODE: readonly Way[] = [
  (at) => [...ON_NODE(at), ...ON_KAFKA, '--state-directory', missing(at)],
  (at) => [...ON_NODE(at), ...CA_FILE(at), '--state-directory', join(at.own, 'state')],
];
const NO_RUNTIME: Way = ({ own }) => ['--runtime-endpoint', join(own, 'no-socket')];
const NO_FILE = 'reads and writes no file that is named to it';

/** By verb the ways in which it meets a file or a socket, or why it meets none. */
const WAYS: Readonly<Record<string, string | readonly Way[]>> = {
  run: [
    (at) => ['--cluster', 'c', '--log-path', file(at), '--state-directory', join(at.own, 'state')],
    (at) => ['--cluster', 'c', '--log-path', join(at.own, 'run.db'), '--state-directory', missing(at)],
    (at) => ['--policy', file(at)],
  ],
  plan: [
    (at) => ['--runtime-endpoint', socket(at)],
    (at) => ['--inventory', file(at)],
    (at) => ['--policy', file(at), '--inventory', join(at.own, 'policy.yaml')],
  ],
  'cluster run': [(at) => ['--cluster', 'c', '--log-path', join(at.own, 'c.db'), ...KUBECONFIG(at)]],
  'cluster plan': [KUBECONFIG],
  cascade: [(at) => ['ConfigMap/ns/x', ...KUBECONFIG(at)]],
  'cluster report': [asking()],
  'cluster leftovers': [KUBECONFIG],
  'cluster rbac': [KUBECONFIG],
  'cluster guard': [(at) => ['--policy', file(at)]],
  held: [asking()],
  approve: [asking('c', 'o', '--objects', '1')],
  undo: [asking('c')],
  'cluster agent': [withOwn((at) => ['--cluster', 'c', ...KUBECONFIG(at)])],
  'cluster executor': [
    withOwn((at) => ['--cluster', 'c', '--state-directory', join(at.own, 'c'), ...KUBECONFIG(at)]),
    withOwn((at) => [
      '--cluster',
      'c',
      '--state-directory',
      missing(at),
      '--kubeconfig',
      join(at.own, 'policy.yaml'),
    ]),
  ],
  'policy-controller': [withOwn((at) => ['--cluster', 'c', ...KUBECONFIG(at)])],
  demo: NO_FILE,
  'simulate-node': [(at) => ['--cluster', 'c', '--node-name', 'n', ...CA_FILE(at)]],
  'simulate-fleet': [CA_FILE],
  node: AS_NODE,
  'node-agent': AS_NODE,
  'node-executor': AS_NODE,
  'cri-proxy': [(at) => ['--proxy-socket', missing(at)]],
  decide: [CA_FILE],
  pressure: [CA_FILE],
  'container-gc': [CA_FILE],
  'image-gc': [CA_FILE],
  'graph-gc': [CA_FILE],
  'pod-gc': [CA_FILE],
  'expiry-gc': [CA_FILE],
  serve: [
    (at) => [
      ...['image-gc', '--policy', join(at.own, 'policies.jsonl')],
      ...['--tls-certificate-file', file(at), '--tls-key-file', file(at)],
    ],
  ],
  'topics create': [asking()],
  'topics check': [asking()],
  'topics acls': [
    (at) => [
      ...['--reader-principal', 'User:x', '--apply'],
      ...['--log', 'kafka', '--kafka-brokers', '127.0.0.1:1', '--kafka-ca-file', file(at)],
    ],
  ],
  'policy validate': [(at) => [file(at)]],
  'policy from-kubelet': [(at) => [file(at)]],
  'policy apply': [(at) => [file(at)], (at) => asking(join(at.own, 'policy.yaml'))(at)],
  'policy list': [asking()],
  'policy show': [asking('x')],
  'policy effective': [asking('--node', 'n'), (at) => ['--node', 'n', '--policy', file(at)]],
  'policy delete': [asking('x')],
  'policy sign': [withOwn((at) => ['--dry-run', '--trust', 'warn', '--trust-roots', file(at)])],
  'policy export': [asking('--file', '-'), withOwn((at) => ['--file', missing(at)])],
  pause: [asking()],
  resume: [asking()],
  'keys create': [(at) => [missing(at)]],
  'keys roots': [(at) => ['--fleet', 'prod', '--root', `r=${file(at)}`]],
  'keys certify': [
    withOwn((at) => [
      ...[file(at), '--role', 'operator', '--name', 'n', '--valid-for', '1d'],
      ...['--trust-roots', file(at), '--root-key-file', file(at)],
    ]),
  ],
  'keys revoke': [
    withOwn((at) => [
      'a'.repeat(32),
      '--reason',
      'x',
      '--trust-roots',
      file(at),
      '--root-key-file',
      file(at),
    ]),
  ],
  'keys publish': [withOwn((at) => [file(at), '--trust-roots', file(at)])],
  'keys list': [withOwn((at) => ['--trust-roots', file(at)])],
  'keys check': [withOwn((at) => ['--trust-roots', file(at)])],
  'keys verify': [withOwn((at) => [file(at), '--trust-roots', file(at)])],
  status: [asking()],
  nodes: [asking()],
  'doctor node': [
    withOwn((at) => [...ON_NODE(at), '--runtime-endpoint', socket(at)]),
    withOwn((at) => [...ON_NODE(at), ...NO_RUNTIME(at), '--local-file', file(at)]),
    withOwn((at) => [...ON_NODE(at), ...NO_RUNTIME(at), '--state-directory', at.at]),
  ],
  'doctor decide': [asking()],
  'doctor cluster': [withOwn((at) => ['--cluster', 'c', ...KUBECONFIG(at)])],
  dashboard: [(at) => asking('--projection', join(at.own, 'projection.db'))(at)],
  notify: [withOwn((at) => ['--rules', file(at), '--http-address', 'none'])],
  'notify check': [(at) => [file(at)]],
  'notify rbac': NO_FILE,
  'audit verify': [asking()],
  'audit explain': [asking('x')],
  'audit simulate': [(at) => asking('--policy', join(at.own, 'policy.yaml'))(at)],
  'audit report': [asking()],
  'audit archive': [
    (at) => asking('--to', join(at.own, 'archive'))(at),
    withOwn((at) => ['--to', missing(at)]),
  ],
  'audit archive check': [(at) => ['--archive', at.at]],
  'audit query': [(at) => ['SELECT 1', '--archive', at.at]],
  'audit events': [asking()],
  'dead-letters list': [asking()],
  'dead-letters show': [asking('x')],
  'dead-letters redrive': [asking('--all')],
  version: NO_FILE,
  completion: NO_FILE,
};

test('every verb is here, or it is said why it meets no file', () => {
  expect(Object.keys(WAYS).toSorted()).toEqual(ALL_VERBS.map(({ name }) => name).toSorted());
});

test.runIf(canBeNobody())(
  'without rights that is what is told, with the file, the right and what to do, by every verb',
  async () => {
    const closed = await closedPlaces();
    const asked = closed.flatMap((places) =>
      Object.entries(WAYS).flatMap(([verb, ways]) =>
        typeof ways === 'string'
          ? []
          : ways.map((way) => ({ at: places.at, args: [...verb.split(' '), ...way(places)] })),
      ),
    );
    const [made, ...ended] = await asNobody([OWN_LOG(closed), ...asked.map(({ args }) => args)]);
    expect(made).toMatchObject({ exitCode: 0 });
    for (const [index, { at, args }] of asked.entries()) {
      const { exitCode = 0, output = '' } = ended[index] ?? {};
      const denied =
        output.match(/permission denied: uid 65534 may not [^;]*; run the command with sudo/g) ?? [];
      const isTold = denied.some((each) => each.includes(at) && /\(owner root, mode 0\d+\)/.test(each));
      const is = { args, fails: exitCode !== 0, isTold, raw: output.match(RAW)?.[0] };
      expect.soft(is, output.slice(0, 600)).toEqual({ args, fails: true, isTold: true, raw: undefined });
    }
  },
  2 * BOUND_MS,
);

/** What is not so, not for people, or asks for something else. */
const RAW =
  /\n\s+at .*|there is no (event log|archive)|E(ACCES|PERM)\b|Is it running|cannot be understood|Correct the file/;
