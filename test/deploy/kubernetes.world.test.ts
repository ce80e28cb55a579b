import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { inProcess } from '../cli/fleetgc.ts';
import { createNetwork } from '../support/network.ts';
import { startApiServer } from '../support/nodes/api-server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run } from '../support/toolchain/command.ts';
import { ensureKubectl } from '../support/toolchain/kubectl.ts';
import { ensureToolchain } from '../support/toolchain/toolchain.ts';
import { REPOSITORY, textOf, Volume } from './files.ts';

const KUBECTL_MS = 60_000;
const Listed = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), generation: z.int() }),
      spec: z.object({ template: z.json() }),
    }),
  ),
});

const DaemonSet = z.object({
  kind: z.literal('DaemonSet'),
  spec: z.object({
    template: z.object({
      spec: z.object({
        containers: z.array(
          z.object({
            name: z.string(),
            image: z.string(),
            envFrom: z.array(z.object({ configMapRef: z.object({ name: z.string() }) })).default([]),
          }),
        ),
      }),
    }),
  }),
});

const Pods = z.object({
  items: z.array(
    z.object({ spec: z.object({ template: z.object({ spec: z.object({ volumes: z.array(Volume) }) }) }) }),
  ),
});

interface Kubectl {
  (...args: readonly string[]): Promise<string>;
  /** Lines of a shell in which `kubectl` is the same; the first that fails ends it. */
  shell(script: string, cwd: string): Promise<void>;
}

/** `kubectl` on an API server of this test's own, which has no controllers. */
async function startKubectl(stack: AsyncDisposableStack): Promise<Kubectl> {
  await ensureToolchain(['api-server', 'kubectl']);
  const network = stack.use(await createNetwork());
  const server = stack.use(await startApiServer(network));
  const folder = temporaryDirectory();
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, JSON.stringify(server.localKubeconfig));
  const program = await ensureKubectl();
  const common = ['--kubeconfig', kubeconfig, '--cache-dir', join(folder, 'cache')];
  const kubectl = async (...args: readonly string[]): Promise<string> =>
    (await run(program, [...common, ...args], { usualMs: KUBECTL_MS })).stdout;
  const called = `kubectl() { '${[program, ...common].join("' '")}' "$@"; }`;
  const shell = async (script: string, cwd: string): Promise<void> => {
    await run('sh', ['-e', '-c', `${called}\n${script}`], { usualMs: KUBECTL_MS, cwd });
  };
  return Object.assign(kubectl, { shell });
}

const LOOKING = 'app.kubernetes.io/component in (dashboard, notify)';

test('kubectl apply -k: a changed setting or root rolls every pod, the same settings none; the operator has a Job, and dashboard and notices their pods', async () => {
  await using stack = new AsyncDisposableStack();
  const kubectl = await startKubectl(stack);
  const folder = join(temporaryDirectory(), 'kubernetes');
  cpSync(join(REPOSITORY, 'deploy/kubernetes'), folder, { recursive: true });
  const settings = join(folder, 'settings/fleetgc.env');
  const applied = async () => {
    await kubectl('apply', '-k', folder);
    const json = await kubectl('-n', 'fleetgc', 'get', 'deployments,daemonsets', '-o', 'json');
    const { items } = Listed.parse(JSON.parse(json));
    return items.map(({ metadata, spec }) => ({ ...metadata, template: JSON.stringify(spec.template) }));
  };

  const first = await applied();
  const again = await applied();
  writeFileSync(settings, readFileSync(settings, 'utf8').replace('kafka-bootstrap.kafka:9092', 'other:9092'));
  const changed = await applied();
  writeFileSync(join(folder, 'settings/roots.yaml'), 'fleet: prod\n');
  const believing = await applied();
  await kubectl('apply', '-k', join(folder, 'operator'));
  const job = await kubectl('-n', 'fleetgc', 'get', 'job', 'fleetgc-operator', '-o', 'name');
  const onlookers = ['dashboard', 'notify'];
  for (const name of onlookers) await kubectl('apply', '-k', join(folder, name));
  const looking = await kubectl('-n', 'fleetgc', 'get', 'deployments', '-l', LOOKING, '-o', 'name');

  expect(first).toHaveLength(4);
  expect(again).toEqual(first);
  const rolled = changed.filter(({ template }, index) => template !== first[index]?.template);
  expect(rolled.map(({ name }) => name)).toEqual(first.map(({ name }) => name));
  const rolledAgain = believing.filter(({ template }, index) => template !== changed[index]?.template);
  expect(rolledAgain).toHaveLength(first.length);
  expect(job).toBe('job.batch/fleetgc-operator\n');
  expect(looking.split('\n').filter((name) => name !== '')).toEqual(
    onlookers.map((name) => `deployment.apps/fleetgc-${name}`),
  );
});

const RUN_ELSEWHERE = /^ *(docker|kubectl -n fleetgc wait) /;

/** What the page tells people to type, without what needs a registry or the controllers of a cluster. */
function documentedCommands(): string {
  const page = textOf('docs/operating/install.md');
  const section = page.slice(page.indexOf('### In Kubernetes'), page.indexOf('### With systemd'));
  const blocks = [...section.matchAll(/^ *```\n([\s\S]*?)^ *```$/gm)].map(([, block = '']) => block);
  const lines = blocks.flatMap((block) => block.split('\n'));
  return lines.filter((line) => !RUN_ELSEWHERE.test(line)).join('\n');
}

/** Keys and statements as "First set-up" makes them. */
async function makeKeys(file: (name: string) => string): Promise<void> {
  const done = async (...args: readonly string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await inProcess(args);
    expect(exitCode, stderr).toBe(0);
    return stdout;
  };
  const root = (await done('keys', 'create', file('root.pem'))).trim();
  writeFileSync(
    file('roots.yaml'),
    await done('keys', 'roots', '--fleet', 'prod', '--root', `first=${root}`),
  );
  const rooted = ['--trust-roots', file('roots.yaml'), '--root-key-file', file('root.pem')];
  for (const [name, role] of [
    ['decider', 'decider'],
    ['operator', 'operator'],
    ['decider-2', 'decider'],
  ] as const) {
    const key = (await done('keys', 'create', file(`${name}.pem`))).trim();
    const said = ['--role', role, '--name', name, '--valid-for', '30d'];
    const statement = await done('keys', 'certify', key, ...said, ...rooted, '--offline');
    writeFileSync(file(`${name}.statement`), statement);
  }
}

test('the commands of the page make keys, Secrets and pods that fit each other', async () => {
  await using stack = new AsyncDisposableStack();
  const kubectl = await startKubectl(stack);
  const folder = temporaryDirectory();
  const file = (name: string): string => join(folder, name);
  cpSync(join(REPOSITORY, 'deploy'), file('deploy'), { recursive: true });
  await makeKeys(file);
  for (const name of ['ca.pem', 'nodes-password', 'deciders-password', 'operators-password'])
    writeFileSync(file(name), name);

  await kubectl.shell(documentedCommands(), folder);

  const secret = (name: string) =>
    kubectl('-n', 'fleetgc', 'get', 'secret', name, '-o', 'jsonpath={.data.key\\.pem}');
  const inBase64 = (name: string): string => readFileSync(file(name)).toString('base64');
  expect(await secret('fleetgc-signing-deciders')).toBe(inBase64('decider-2.pem'));
  expect(await secret('fleetgc-signing-operators')).toBe(inBase64('operator.pem'));
  const pods = await kubectl('-n', 'fleetgc', 'get', 'deployments,daemonsets,jobs', '-o', 'json');
  const volumes = Pods.parse(JSON.parse(pods)).items.map(({ spec }) => spec.template.spec.volumes);
  expect(volumes).toHaveLength(5);
  for (const each of volumes) {
    const name = each.find((volume) => volume.name === 'roots')?.configMap?.name ?? 'none';
    const data = await kubectl(
      '-n',
      'fleetgc',
      'get',
      'configmap',
      name,
      '-o',
      'jsonpath={.data.roots\\.yaml}',
    );
    expect(data).toBe(readFileSync(file('roots.yaml'), 'utf8'));
  }
  const modes = volumes.flatMap(
    (each) => each.find(({ name }) => name === 'signing')?.secret?.defaultMode ?? [],
  );
  expect(modes).toEqual([0o440, 0o440, 0o440, 0o440]);
});

test('kubectl kustomize: with split-node among the components a node is three containers, of the same image and settings', async () => {
  const program = await ensureKubectl();
  const folder = join(temporaryDirectory(), 'kubernetes');
  cpSync(join(REPOSITORY, 'deploy/kubernetes'), folder, { recursive: true });
  const file = join(folder, 'kustomization.yaml');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('\n  - settings\n', '\n  - split-node\n  - settings\n'));
  const { stdout } = await run(program, ['kustomize', folder], { usualMs: KUBECTL_MS });
  const nodes = parseAllDocuments(stdout).flatMap((document) => {
    const { success, data } = DaemonSet.safeParse(document.toJS());
    return success ? [data.spec.template.spec.containers] : [];
  });

  expect(nodes).toHaveLength(1);
  expect(nodes[0]?.map(({ name }) => name)).toEqual(['cri-proxy', 'node-agent', 'node-executor']);
  expect(new Set(nodes[0]?.map(({ image }) => image))).toEqual(new Set(['registry.example/fleetgc:0.1.0']));
  const settings = nodes[0]?.flatMap(({ envFrom }) => envFrom.map(({ configMapRef }) => configMapRef.name));
  expect(settings).toEqual([expect.stringMatching(/^fleetgc-\w+$/), expect.stringMatching(/^fleetgc-\w+$/)]);
});
