import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { askAdvisories } from '../../../bin/supply-chain/advisories.ts';
import packageLock from '../../../package-lock.json' with { type: 'json' };
import { patiently } from '../../support/patience.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');
/** Of packages that the lockfile has, and one that no advisory is against. */
const VERSIONS = [
  '0.1.0',
  packageLock.packages['node_modules/kafkajs'].version,
  packageLock.packages['node_modules/rolldown'].version,
];

/** The environment of an npm whose registry answers every question about advisories like this. */
async function registryThat(answers: { readonly status: number; readonly body: unknown }) {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(answers.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(request.method === 'POST' ? answers.body : packument(request.url)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = z.object({ port: z.int() }).parse(server.address());
  return environment(`http://127.0.0.1:${port}`);
}

/** What a registry tells of a package, which npm asks for where there is an advisory. */
function packument(path = '/') {
  const name = path.slice(1);
  return { name, versions: Object.fromEntries(VERSIONS.map((version) => [version, { name, version }])) };
}

const environment = (registry: string): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: temporaryDirectory(),
  npm_config_registry: registry,
});

/** npm starts slowly on a busy machine, and these registries are here. */
const ask = (env: NodeJS.ProcessEnv) => askAdvisories(REPOSITORY, env, patiently(60_000));

const advisory = (severity: string) => ({
  id: 1,
  url: 'https://example.test/1',
  title: 'A hole',
  severity,
  vulnerable_versions: '>=2.0.0',
});

test.each([
  { severity: 'moderate', packages: [] },
  { severity: 'high', packages: ['kafkajs >=2.0.0 (high)'] },
  { severity: 'critical', packages: ['kafkajs >=2.0.0 (critical)'] },
])('an advisory that is $severity: $packages', async ({ severity, packages }) => {
  const env = await registryThat({ status: 200, body: { kafkajs: [advisory(severity)] } });
  expect(await ask(env)).toEqual({ kind: 'found', packages });
});

test('what only development needs is not asked about', async () => {
  const env = await registryThat({ status: 200, body: { rolldown: [advisory('critical')] } });
  expect(await ask(env)).toEqual({ kind: 'found', packages: [] });
});

test.each([
  { name: 'that refuses the question', status: 405, reason: /405/ },
  { name: 'that has no such question', status: 404, reason: /404/ },
])('a registry $name was not asked', async ({ status, reason }) => {
  const env = await registryThat({ status, body: {} });
  expect(await ask(env)).toEqual({
    kind: 'not-asked',
    reason: expect.stringMatching(reason),
  });
});

test('a registry that is away was not asked', async () => {
  expect(await ask(environment('http://127.0.0.1:9'))).toEqual({
    kind: 'not-asked',
    reason: expect.stringContaining('ECONNREFUSED'),
  });
});
