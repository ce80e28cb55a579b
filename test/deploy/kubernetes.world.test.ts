import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { createNetwork } from '../support/network.ts';
import { startApiServer } from '../support/nodes/api-server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run } from '../support/toolchain/command.ts';
import { ensureKubectl } from '../support/toolchain/kubectl.ts';
import { ensureToolchain } from '../support/toolchain/toolchain.ts';
import { REPOSITORY } from './files.ts';

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

/** `kubectl` on an API server of this test's own, which has no controllers. */
async function startKubectl(stack: AsyncDisposableStack) {
  await ensureToolchain(['api-server', 'kubectl']);
  const network = stack.use(await createNetwork());
  const server = stack.use(await startApiServer(network));
  const folder = temporaryDirectory();
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, JSON.stringify(server.localKubeconfig));
  const program = await ensureKubectl();
  const common = ['--kubeconfig', kubeconfig, '--cache-dir', join(folder, 'cache')];
  return async (...args: readonly string[]): Promise<string> =>
    (await run(program, [...common, ...args], { usualMs: KUBECTL_MS })).stdout;
}

test('kubectl apply -k: a changed setting rolls every pod, the same settings none; and the operator has a Job', async () => {
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
  await kubectl('apply', '-k', join(folder, 'operator'));
  const job = await kubectl('-n', 'fleetgc', 'get', 'job', 'fleetgc-operator', '-o', 'name');

  expect(first).toHaveLength(4);
  expect(again).toEqual(first);
  const rolled = changed.filter(({ template }, index) => template !== first[index]?.template);
  expect(rolled.map(({ name }) => name)).toEqual(first.map(({ name }) => name));
  expect(job).toBe('job.batch/fleetgc-operator\n');
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
