import { writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { inProcess } from '../fleetgc.ts';

/** A server that answers everything alike, and its address. */
async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `http://127.0.0.1:${address.port}`;
}

function kubeconfigFor(server: string): string {
  const file = join(temporaryDirectory(), 'kubeconfig');
  const config = {
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

const run = (kubeconfig: string, ...more: readonly string[]) =>
  inProcess([
    ...['cluster', 'run', '--cluster', 'c1', '--kubeconfig', kubeconfig],
    ...['--log-path', join(temporaryDirectory(), 'log.db'), '--http-address', 'none', ...more],
  ]);
const status =
  (code: number, reason: string): RequestListener =>
  (_, response) => {
    response.writeHead(code, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ kind: 'Status', code, reason, message: `says ${reason}` }));
  };

test.each<[string, RequestListener, RegExp]>([
  [
    'is no API server',
    (_, response) => response.end('<html>'),
    /is no API server of Kubernetes: check the address/,
  ],
  ['knows nobody by the token', status(401, 'Unauthorized'), /Check the token or certificate/],
  [
    'allows nothing',
    status(403, 'Forbidden'),
    /Give the account the rights of docs\/operating\/clusters\.md/,
  ],
])('what %s ends the run at once, and says what to do', async (_, answer, says) => {
  const { exitCode, stdout, stderr } = await run(kubeconfigFor(await serve(answer)));
  expect([exitCode, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(says);
});

test('an API server that cannot be reached ends the run at once, and says where it was looked for', async () => {
  const kubeconfig = kubeconfigFor('http://127.0.0.1:1');
  const { exitCode, stderr } = await run(kubeconfig);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(
    /^fleetgc cluster run: the API server at http:\/\/127\.0\.0\.1:1 gave no answer .*ECONNREFUSED/,
  );
  expect(stderr).toContain(`Check the address in ${kubeconfig}`);
});

test('outside of a pod there is no service account', async () => {
  const { exitCode, stderr } = await run('in-cluster');
  expect(exitCode).toBe(2);
  expect(stderr).toContain('name a file with --kubeconfig that says how');
});

test('a policy that is wrong, or is for nodes, starts nothing', async () => {
  const policy = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(policy, 'name: a\nmode: dry-run\n');
  const { exitCode, stdout, stderr } = await run(kubeconfigFor('http://127.0.0.1:1'), '--policy', policy);
  expect([exitCode, stdout]).toEqual([2, '']);
  expect(stderr).toContain('nothing was started');
});
