import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { run } from '../support/toolchain/command.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type ComposeProject, composeProject, REPOSITORY, remainsOf } from './compose-project.ts';

const PROBE_MS = 150_000;
const DOCKER_MS = 60_000;
const HEALTHY_MS = 60_000;

const ComposeFile = z.object({
  services: z.record(z.string(), z.object({ profiles: z.array(z.string()).optional() })),
});
const { services } = ComposeFile.parse(
  parse(readFileSync(join(REPOSITORY, 'docker-compose.yml'), 'utf8'), { merge: true }),
);
const names = Object.keys(services);
const lasting = names.filter((name) => /^(pressure|container-gc|image-gc|node)-\d$/.test(name));

let project: ComposeProject;
beforeAll(async () => {
  project = await composeProject(names);
});
afterAll(() => project[Symbol.asyncDispose]());

test('the example holds two replicas of each decision service and three nodes', () => {
  expect(lasting.toSorted()).toEqual([
    'container-gc-1',
    'container-gc-2',
    'image-gc-1',
    'image-gc-2',
    'node-1',
    'node-2',
    'node-3',
    'pressure-1',
    'pressure-2',
  ]);
});

test('it is Compose of version 2 or newer that reads the file, and finds no fault with it', async () => {
  const { stdout } = await project.compose('version', '--short');
  expect(Number.parseInt(stdout.replace(/^v/, ''), 10)).toBeGreaterThanOrEqual(2);
  expect((await project.compose('config', '--quiet')).output).toBe('');
});

test('one command brings it up, every node is cleaned, and it goes without a trace', async () => {
  const { output } = await project.compose('up', '--detach');
  expect(output.split('\n').filter((line) => /pull|error|denied/i.test(line))).toEqual([]);
  await probe(project);
  await waitUntil('Docker to call every service healthy', HEALTHY_MS, async () =>
    (await healthOf(project)).every((health) => health === 'healthy'),
  );
  const { stdout: policies } = await project.compose('run', '--rm', '-T', 'fleetgc', 'policy', 'list');
  expect(policies).toMatch(/\bdemo\b.*\benforce\b/);

  expect(await loudLines(project)).toEqual([]);
  await onlySignedCounts();
  await project.compose('stop', '--timeout', '150');
  expect(await exitCodes(project)).toEqual(Object.fromEntries(lasting.map((name) => [name, '0'])));

  await project.compose('down', '--volumes');
  expect(await remainsOf(project)).toEqual([]);
});

test('keys stay as they are when the example starts again, also after it was taken down', async () => {
  await using fresh = await composeProject(names);
  const made = async (): Promise<readonly string[]> => {
    const { output } = await fresh.compose('up', 'keys');
    return [...output.matchAll(/Its id: ([0-9a-f]{32})/g)].map(([, id = '']) => id);
  };
  const first = await made();
  expect(first).toHaveLength(3);
  expect(await made()).toEqual(first);
  await fresh.compose('down');
  expect(await made()).toEqual(first);
});

/** All services ready, and a removal by each node on the log. */
const probe = async (given: ComposeProject): Promise<void> => {
  await inNetwork(given, 'compose-probe.ts', ...lasting);
};

/** What a script of this folder prints on the network of the example. */
async function inNetwork(
  { name, image }: ComposeProject,
  script: string,
  ...args: readonly string[]
): Promise<string> {
  const mount = ['--volume', `${REPOSITORY}:/checkout:ro`, '--network', `${name}_default`];
  const program = ['--entrypoint', 'node', image, `/checkout/test/deploy/${script}`, ...args];
  return (await run('docker', ['run', '--rm', ...mount, ...program], { usualMs: PROBE_MS })).stdout;
}

/** Nobody follows whoever has no key, and the operator's key mends what they did. */
async function onlySignedCounts(): Promise<void> {
  expect(await inNetwork(project, 'compose-intruder.ts', 'node-1')).toMatch(
    /^a command without a signature became a dead letter\na policy without a signature: .*demo.* carries no signature/,
  );
  const sign = (...args: readonly string[]) =>
    project.compose('run', '--rm', '-T', 'fleetgc', 'policy', 'sign', ...args);
  const { stdout } = await sign('--dry-run', '-o', 'json');
  const { digest } = z.object({ digest: z.string() }).parse(JSON.parse(stdout));
  await sign('--expect', digest);
  await probe(project);
}

async function healthOf(given: ComposeProject): Promise<readonly string[]> {
  return Object.values(await inspectEach(given, '{{.State.Health.Status}}'));
}

function exitCodes(given: ComposeProject): Promise<Readonly<Record<string, string>>> {
  return inspectEach(given, '{{.State.ExitCode}}');
}

/** One value of the container of each lasting service, by the service's name. */
async function inspectEach(
  { name }: ComposeProject,
  format: string,
): Promise<Readonly<Record<string, string>>> {
  const entries = lasting.map(async (service): Promise<[string, string]> => {
    const labels = [`com.docker.compose.project=${name}`, `com.docker.compose.service=${service}`];
    const filters = labels.flatMap((label) => ['--filter', `label=${label}`]);
    const listed = await run('docker', ['ps', '--all', '--quiet', ...filters], { usualMs: DOCKER_MS });
    const inspect = ['inspect', '--format', format, listed.stdout.trim()];
    return [service, (await run('docker', inspect, { usualMs: DOCKER_MS })).stdout.trim()];
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Lines that would make a reader think that something is wrong. */
async function loudLines(given: ComposeProject): Promise<readonly string[]> {
  const { stdout } = await given.compose('logs', '--no-color');
  return stdout.split('\n').filter((line) => /"level":"(error|fatal)"|\] ERROR | at .*:\d+:\d+\)/.test(line));
}
