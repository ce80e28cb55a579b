import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { runCli } from '../../cli/run-cli.ts';
import { ALL_VERBS } from '../../cli/verbs.ts';
import { CLUSTER_POLICY, furnish, SCENES, TENANT } from '../../lab/demo/cluster.ts';
import { startApiServer } from '../../lab/sim/api-server/api-server.ts';
import { Deeds, SimulatedCluster } from '../../lab/sim/api-server/cluster.ts';
import { SERVED } from '../../lab/sim/api-server/objects.ts';
import { boundlessRegistry } from '../../lab/sim/runtime/objects.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import { readSigningKey } from '../../packages/records/trust/key-pair.ts';
import { trustRootsText } from '../../packages/records/trust/roots-file.ts';
import { DashboardProgress } from '../../schemas/reports/dashboard.ts';
import { rootsOf } from '../fixtures/trust.ts';
import { FakeProcess } from '../support/fake-process.ts';
import { waitUntil } from '../support/wait-until.ts';
import { ASKED_ROUTES } from './asked-routes.ts';
import { ASKED_ARCHIVE, ASKED_VERBS } from './asked-verbs.ts';
import { type RecordedLog, readRecordedLog, replayInto } from './recorded-log.ts';
import { seededPem } from './seeded-keys.ts';
import { machine, STOPPED_AT } from './stopped-machine.ts';

const HOUR_MS = 3_600_000;
const BOUND_MS = 120_000;

interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that runs, and what it has printed so far. */
interface Running {
  readonly output: { stdout: string; stderr: string };
  readonly control: FakeProcess;
  readonly ended: Promise<number>;
}

function start(args: readonly string[], directory: string): Running {
  const output = { stdout: '', stderr: '' };
  const control = new FakeProcess();
  machine.restart();
  const ended = runCli(args, {
    environment: { FLEETGC_TRUST: 'off', HOME: directory, PATH: process.env.PATH },
    control,
    terminalColumns: null,
    monotonicNow: () => 0,
    writeOut: async (text) => {
      output.stdout += text;
    },
    stderr: {
      isTerminal: false,
      write: (text) => {
        output.stderr += text;
      },
    },
  });
  return { output, control, ended };
}

async function run(args: readonly string[], directory: string): Promise<Ended> {
  const { output, ended } = start(args, directory);
  return { exitCode: await ended, ...output };
}

const textOf = ({ exitCode, stdout, stderr }: Ended): string =>
  `exit code ${exitCode}\n--- stdout\n${stdout}--- stderr\n${stderr}`;

/** A recording of what this checkout answers. */
class Recording {
  readonly #to: string;
  readonly #directory: string;
  readonly #tell: (line: string) => void;
  readonly #taken = new Set<string>();
  readonly #masks: (readonly [text: string, mask: string])[];

  constructor(to: string, directory: string, tell: (line: string) => void) {
    this.#to = to;
    this.#directory = directory;
    this.#tell = tell;
    this.#masks = [
      [directory, '/DIRECTORY'],
      [join(import.meta.dirname, '..', '..'), '/REPOSITORY'],
      [process.versions.node, 'NODE-VERSION'],
    ];
  }

  /** From now on this is written in place of that, which another run has otherwise. */
  mask(text: string, mask: string): void {
    this.#masks.push([text, mask]);
  }

  path(name: string): string {
    return join(this.#directory, name);
  }

  /** `text` without what another run has otherwise, into a file whose name says what was asked. */
  write(folder: string, asked: string, text: string): void {
    const name = asked.replaceAll(/[^\w.,=@+-]+/g, '_').slice(0, 120);
    let file = join(folder, name);
    for (let again = 2; this.#taken.has(file); again += 1) file = join(folder, `${name}-${again}`);
    this.#taken.add(file);
    mkdirSync(join(this.#to, folder), { recursive: true });
    const masked = this.#masks.reduce((masking, [found, mask]) => masking.replaceAll(found, mask), text);
    writeFileSync(join(this.#to, `${file}.txt`), masked);
    this.#tell(file);
  }
}

export interface RecordOptions {
  /** A directory that is made. */
  readonly to: string;
  /** What begins with this alone, such as `verbs/audit`; all when not given. */
  readonly only?: string;
  readonly tell: (line: string) => void;
}

/** Asks all verbs and all routes of the dashboard of one recorded fleet, and writes down what they answer. */
export async function recordVerbs({ to, only = '', tell }: RecordOptions): Promise<void> {
  const recorded = readRecordedLog();
  process.env[STOPPED_AT] = String(recorded.askedAtMs);
  performance.now = () => 0;
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-verbs-'));
  mkdirSync(to, { recursive: true });
  const recording = new Recording(to, directory, tell);
  const parts: readonly (readonly [string, () => Promise<void>])[] = [
    ['help', () => recordHelp(recording, directory)],
    ['routes', () => recordRoutes(recording, directory, recorded)],
    ['verbs', () => recordAnswers(recording, directory, only)],
    ['archive', () => recordArchive(recording, directory)],
  ];
  try {
    await replayInto(join(directory, 'log.db'), recorded);
    writeFiles(directory, recorded);
    for (const [name, record] of parts) if (only === '' || only.startsWith(name)) await record();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The files that `@name` stands for, beside what verbs write themselves. */
function writeFiles(directory: string, { records }: RecordedLog): void {
  const [root, other] = [
    readSigningKey(seededPem('root'), 'root'),
    readSigningKey(seededPem('other'), 'other'),
  ];
  const inventory = records.findLast(
    ({ topic, key, value }) =>
      topic === 'gc.node.inventory' && key === 'prod/web-1' && (value?.length ?? 0) > 1_000,
  );
  const files: Readonly<Record<string, string>> = {
    'roots.yaml': trustRootsText(rootsOf(root)),
    'root.pem': seededPem('root'),
    'operator.pem': seededPem('operator'),
    public: other.publicKey,
    'inventory.json': Buffer.from(inventory?.value ?? '', 'base64').toString('utf8'),
    'policy.yaml':
      'name: tried\nmode: enforce\npriority: 10\nimageGCHighThresholdPercent: 60\nimageGCLowThresholdPercent: 40\n',
    'other.yaml': 'name: default\nmode: dry-run\n',
    'clusters.yaml': CLUSTER_POLICY,
    'wrong.yaml': 'name: wrong\nmode: perhaps\nimageGCHighThresholdPercent: 101\nnobodyKnows: 1\n',
    'kubelet.yaml': [
      'apiVersion: kubelet.config.k8s.io/v1beta1',
      'kind: KubeletConfiguration',
      'imageGCHighThresholdPercent: 90',
      'imageMinimumGCAge: 5m',
      'evictionHard:',
      '  imagefs.available: 20%',
      '',
    ].join('\n'),
    'rules.yaml': JSON.stringify({
      receivers: [{ name: 'r', type: 'webhook', url: 'http://127.0.0.1:1/' }],
      rules: [{ name: 'all', to: ['r'] }],
    }),
  };
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(directory, name), text, { mode: 0o600 });
}

/** What stands for no file, but for a name that was recorded. */
function namesIn({ records }: RecordedLog): Readonly<Record<string, string>> {
  const letters = records.flatMap(({ topic, value }) =>
    topic === 'gc.dead-letters'
      ? [Named.parse(JSON.parse(Buffer.from(value ?? '', 'base64').toString())).id]
      : [],
  );
  return {
    'first-letter': letters[0] ?? '',
    'second-letter': letters[1] ?? '',
    'operator-id': readSigningKey(seededPem('operator'), 'operator').keyId,
    'image-id': boundlessRegistry('app/a:1').id,
  };
}

const Named = z.object({ id: z.string() });

async function recordHelp(recording: Recording, directory: string): Promise<void> {
  const families = new Set(
    ALL_VERBS.flatMap(({ name }) => (name.includes(' ') ? [name.split(' ')[0] ?? ''] : [])),
  );
  const asked = [
    [],
    ['--help'],
    ...[...families, ...ALL_VERBS.map(({ name }) => name)].map((name) => [...name.split(' '), '--help']),
  ];
  for (const args of asked) recording.write('help', args.join(' '), textOf(await run(args, directory)));
}

/** The command that asks; without what stands for files it is the name of what is written. */
const askingOf = (verb: string, args: readonly string[], form: string | null): readonly string[] => [
  ...verb.split(' '),
  ...args,
  ...(form === null ? [] : ['-o', form]),
];

async function recordAnswers(recording: Recording, directory: string, only: string): Promise<void> {
  await using server = await simulatedCluster(directory);
  recording.mask(server.url, 'http://API-SERVER');
  const names = namesIn(readRecordedLog());
  const events = await run(['audit', 'events', ...logOptions(directory)], directory);
  writeFileSync(recording.path('events.ndjson'), events.stdout);
  for (const [verb, asked] of Object.entries(ASKED_VERBS)) {
    if (typeof asked === 'string') continue;
    const folder = `verbs/${verb.replaceAll(' ', '-')}`;
    if (!folder.startsWith(only) && !only.startsWith(folder)) continue;
    for (const { args, forms = [], isAlone = false } of asked)
      for (const form of [null, ...forms]) {
        const asking = askingOf(verb, args, form);
        const given = asking.map((arg) =>
          arg.replace(/(?<=^|=)@(.+)$/, (_, name) => names[name] ?? join(directory, name)),
        );
        const ended = await run(isAlone ? given : [...given, ...logOptions(directory)], directory);
        if (asking.includes('--offline')) writeFileSync(recording.path('statements.json'), ended.stdout);
        recording.write(folder, asking.join(' '), textOf(ended));
      }
  }
}

const logOptions = (directory: string): readonly string[] => [
  ...['--log', 'embedded', '--log-path', join(directory, 'log.db')],
];

/** As the demo furnishes one, after the first thing that somebody does. */
async function simulatedCluster(directory: string) {
  let uids = 0;
  const newId = (): string => {
    uids += 1;
    return `uid-${uids}`;
  };
  const cluster = new SimulatedCluster({ kinds: [...SERVED, TENANT], now: () => machine.nowMs(), newId });
  const deeds = new Deeds(cluster);
  furnish(deeds);
  SCENES[0]?.act(deeds);
  const server = await startApiServer({ cluster, token: 'token', wait: systemSources.wait });
  const named = { cluster: 'c1', user: 'somebody' };
  const kubeconfig = {
    clusters: [{ name: 'c1', cluster: { server: server.url } }],
    users: [{ name: 'somebody', user: { token: 'token' } }],
    contexts: [{ name: 'c1', context: named }],
    'current-context': 'c1',
  };
  writeFileSync(join(directory, 'kubeconfig'), JSON.stringify(kubeconfig), { mode: 0o600 });
  return server;
}

async function recordArchive(recording: Recording, directory: string): Promise<void> {
  const archive = join(directory, 'archive');
  // It has nothing of what verbs wrote since.
  if (!existsSync(archive))
    await run(['audit', 'archive', '--to', archive, ...logOptions(directory)], directory);
  for (const args of ASKED_ARCHIVE) {
    const given = args.map((arg) => arg.replace(/^@/, `${directory}/`));
    recording.write('archive', args.join(' '), textOf(await run(given, directory)));
  }
}

async function recordRoutes(recording: Recording, directory: string, recorded: RecordedLog): Promise<void> {
  const names = namesIn(recorded);
  const { output, control, ended } = start(
    [
      ...['dashboard', '--http-address', '127.0.0.1:0', '--probe-address', 'none'],
      ...['--projection', join(directory, 'dashboard.db'), ...logOptions(directory)],
    ],
    directory,
  );
  const port = await waitUntil(
    'the dashboard',
    BOUND_MS,
    () => /"port":(\d+)/.exec(output.stderr)?.[1] ?? null,
  );
  const ask = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${port}${path}`);
  await waitUntil('the dashboard to have read the log', BOUND_MS, async () => {
    const { isCaughtUp, topics } = DashboardProgress.parse(await (await ask('/api/progress')).json());
    return (
      isCaughtUp &&
      topics.every(({ sinceMs, wantedSinceMs }) => (sinceMs ?? wantedSinceMs + 1) <= wantedSinceMs)
    );
  });
  for (const asked of ASKED_ROUTES) {
    const path = asked
      .replaceAll('NOW-1h', String(machine.nowMs() - HOUR_MS))
      .replace(/@([\w-]+)/, (_, name) => encodeURIComponent(names[name] ?? ''));
    const answer = await waitUntil(asked, BOUND_MS, async () => {
      const response = await ask(path);
      const text = await response.text();
      return text.includes('"state":"reading"') ? null : { response, text };
    });
    const { status, headers } = answer.response;
    recording.write('routes', asked.slice(1), `${status} ${headers.get('content-type')}\n${answer.text}\n`);
  }
  control.signal('SIGTERM');
  await ended;
}
