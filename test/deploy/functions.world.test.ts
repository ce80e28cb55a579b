import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { createNetwork, type TestNetwork } from '../support/network.ts';
import { type ApiServer, startApiServer } from '../support/nodes/api-server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { ensureKnativeDefinitions } from '../support/toolchain/definitions.ts';
import { ensureToolchain } from '../support/toolchain/toolchain.ts';
import { establishDefinitions, openShell } from './chart/shell.ts';
import { textOf } from './files.ts';

let network: TestNetwork;
let server: ApiServer;
beforeAll(async () => {
  await ensureToolchain(['api-server', 'kubectl', 'helm', 'knative-definitions']);
  network = await createNetwork();
  server = await startApiServer(network);
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await network?.[Symbol.asyncDispose]();
});

test('an API server takes the Service of Knative by its own definition, and no field that it does not know', async () => {
  const kubeconfig = join(temporaryDirectory(), 'kubeconfig');
  writeFileSync(kubeconfig, stringify(server.localKubeconfig));
  const shell = await openShell(kubeconfig);
  await shell.types(`kubectl create -f ${await ensureKnativeDefinitions()}`);
  await establishDefinitions(shell);
  await shell.types('kubectl create namespace fleetgc');
  const [service] = parseAllDocuments(textOf('deploy/functions/knative/image-gc.yaml'));
  const text = String(service);
  shell.writes('service.yaml', text);
  expect(await shell.types('kubectl create --validate=strict -f service.yaml')).toContain(
    'fleetgc-image-gc created',
  );
  shell.writes(
    'misspelt.yaml',
    text
      .replace('containerConcurrency', 'containerConcurency')
      .replace('name: fleetgc-image-gc', 'name: misspelt'),
  );
  await expect(shell.types('kubectl create --validate=strict -f misspelt.yaml')).rejects.toThrow(
    'containerConcurency',
  );
});
