import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
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
