import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import hashes from '../../packages/audit/deciders/hashes.json' with { type: 'json' };
import { generateJsonSchemas } from '../../schemas/generate.ts';
import { patiently } from '../support/patience.ts';
import { PROGRAM_ENVIRONMENT } from '../support/program.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..');
const PACKAGE = `fleetgc-${packageJson.version}.tgz`;
const run = promisify(execFile);

let folder = '';
/** Where somebody installed it who has nothing else. */
let empty = '';
let release = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fleetgc-test-'));
  [empty, release] = [join(folder, 'empty'), join(folder, 'release')];
  mkdirSync(empty);
  await run(process.execPath, [join(REPOSITORY, 'bin/package.ts'), '--into', release], {
    timeout: patiently(60_000),
  });
  // What is optional comes from a registry: another Node.js, and what archives need.
  const offline = ['install', '--offline', '--omit=optional', '--no-audit', '--no-fund'];
  await run('npm', [...offline, join(release, PACKAGE)], { cwd: empty, timeout: patiently(60_000) });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** As `npx` and people start it, with the Node.js of this test on the path. */
const environment = {
  ...PROGRAM_ENVIRONMENT,
  PATH: `${dirname(process.execPath)}:${PROGRAM_ENVIRONMENT.PATH}`,
};
const installed = (...args: readonly string[]) =>
  run(join(empty, 'node_modules/.bin/fleetgc'), args, { cwd: empty, env: environment });

test('a release is the package, its bill of materials, the licences, and their sums', () => {
  expect(readdirSync(release).toSorted()).toEqual([
    'SHA256SUMS',
    PACKAGE,
    'fleetgc.cdx.json',
    'licences.txt',
  ]);
  const sums = readFileSync(join(release, 'SHA256SUMS'), 'utf8').trim().split('\n');
  expect(sums).toEqual(
    [PACKAGE, 'fleetgc.cdx.json', 'licences.txt'].map(
      (file) => `${hash('sha256', readFileSync(join(release, file)))}  ${file}`,
    ),
  );
});

test('the package has the built program and its documents, and neither sources nor tests', async () => {
  const { stdout } = await run('tar', ['--list', '--file', join(release, PACKAGE)]);
  const files = stdout.trim().split('\n');

  expect(new Set(files.map((file) => file.replace(/^package\/([^/]+).*$/s, '$1')))).toEqual(
    new Set([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'bin',
      'dist',
      'docs',
      'package.json',
      'schemas',
    ]),
  );
  expect(files.filter((file) => file.startsWith('package/bin/')).toSorted()).toEqual([
    'package/bin/fleetgc',
    'package/bin/kubectl-fleetgc',
    'package/bin/kubectl_complete-fleetgc',
  ]);
  expect(files.filter((file) => /\.ts$|(^|\/)test\//.test(file))).toEqual([]);
  for (const decider of Object.keys(hashes)) expect(files).toContain(`package/dist/${decider}.mjs`);
  for (const schema of generateJsonSchemas().keys())
    expect(files).toContain(`package/schemas/generated/${schema}`);
  expect(files).toContain('package/schemas/asyncapi.json');
});

test('what it depends on is optional, so that it runs where it is unpacked', () => {
  const manifest: unknown = JSON.parse(
    readFileSync(join(empty, 'node_modules/fleetgc/package.json'), 'utf8'),
  );

  expect(manifest).not.toHaveProperty('dependencies');
  expect(manifest).not.toHaveProperty('devDependencies');
  expect(manifest).toMatchObject({
    private: true,
    optionalDependencies: {
      ...packageJson.optionalDependencies,
      '@aws-sdk/client-s3': packageJson.dependencies['@aws-sdk/client-s3'],
      '@duckdb/node-api': packageJson.dependencies['@duckdb/node-api'],
    },
  });
  expect(readdirSync(join(empty, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
    'fleetgc',
  ]);
});

test('installed in an empty folder it runs', async () => {
  const { stdout } = await installed('version', '-o', 'json');
  expect(JSON.parse(stdout)).toMatchObject({
    version: packageJson.version,
    deciders: Object.entries(hashes).map(([bundle, { sha256 }]) => ({ bundle, sha256 })),
  });
  expect((await installed('demo', '--help')).stdout).toMatch(/^Usage: fleetgc demo/);
  const npx = await run('npx', ['--offline', '--no', '--', 'fleetgc', '--version'], {
    cwd: empty,
    env: environment,
  });
  expect(npx.stdout).toMatch(`fleetgc ${packageJson.version} (`);
});

test('where its Node.js was left out, and that of the system is not supported, it says how to get it', async () => {
  const old = join(folder, 'old');
  mkdirSync(old);
  writeFileSync(join(old, 'node'), '#!/bin/sh\n[ "$1" = --version ] && echo v20.1.0 && exit 0\nexit 1\n', {
    mode: 0o755,
  });
  const env = { ...PROGRAM_ENVIRONMENT, PATH: `${old}:/usr/bin:/bin` };
  await expect(run(join(empty, 'node_modules/.bin/fleetgc'), ['version'], { env })).rejects.toThrow(
    'Node.js v20.1.0 is not supported (needs 24.22.3 or newer of Node.js 24, or 26.12.1 or newer); install fleetgc again without --omit=optional, which brings its own Node.js',
  );
});

test('each library in it has its licence named, and its text passed on', () => {
  const list = readFileSync(join(release, 'licences.txt'), 'utf8');
  const { components } = JSON.parse(readFileSync(join(release, 'fleetgc.cdx.json'), 'utf8'));

  expect(components.length).toBeGreaterThan(20);
  // Node.js is named a second time, as itself; its licence comes with the package that brings it.
  for (const { name, version, purl } of components)
    if (purl.startsWith('pkg:npm/')) expect(list).toContain(`\n${name} ${version}: `);
  for (const name of ['commander', 'kafkajs', 'zod'])
    expect(list).toMatch(new RegExp(`\\n${name} [^\\n]*, LICENSE[^\\n]*\\n-+\\n\\n[^]*?(MIT|Permission)`));
});
