import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { testLabels } from '../support/cleanup.ts';
import { createNetwork, type TestNetwork } from '../support/network.ts';
import { type Service, startService } from '../support/service.ts';
import { run } from '../support/toolchain/command.ts';
import { ensureToolchain } from '../support/toolchain/toolchain.ts';
import { NODE_IMAGE, SERVICE_IMAGE } from '../support/toolchain/versions.ts';
import { waitUntil } from '../support/wait-until.ts';

const DOCKER_MS = 60_000;
const MEGABYTE = 1_000_000;
/** The program takes 4 MB, and what Node.js compiled of it as much again; tools of development would take more than 200. */
const MOST_MEGABYTES = 12;
/** Nothing listens there. */
const NO_BROKER = { FLEETGC_KAFKA_BROKERS: '127.0.0.1:9', FLEETGC_TRUST: 'off' };
/** As the manifests run it. */
const SHUT_IN = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
const DECIDERS = ['decide', 'pressure', 'container-gc', 'image-gc'];

const docker = (...args: readonly string[]) => run('docker', args, { usualMs: DOCKER_MS });
const inImage = (entryPoint: string, ...args: readonly string[]) =>
  docker('run', '--rm', '--network', 'none', '--entrypoint', entryPoint, SERVICE_IMAGE, ...args);

beforeAll(() => ensureToolchain(['service']));

const Layers = z.object({ Size: z.int(), RootFS: z.object({ Layers: z.array(z.string()) }) });

async function layersOf(image: string): Promise<z.infer<typeof Layers>> {
  const { stdout } = await docker('image', 'inspect', '--format', '{{json .}}', image);
  return Layers.parse(JSON.parse(stdout));
}

describe.concurrent('the image', () => {
  test('adds little to the image of Node.js that it stands on', async () => {
    const [base, ours] = await Promise.all([layersOf(NODE_IMAGE), layersOf(SERVICE_IMAGE)]);

    expect(ours.RootFS.Layers.slice(0, base.RootFS.Layers.length)).toEqual(base.RootFS.Layers);
    expect((ours.Size - base.Size) / MEGABYTE).toBeLessThan(MOST_MEGABYTES);
  });

  test('is fleetgc: its arguments are the verb and its options', async () => {
    const version = await docker('run', '--rm', SERVICE_IMAGE, '--version');
    const help = await docker('run', '--rm', SERVICE_IMAGE);

    expect(version.stdout).toMatch(`fleetgc ${packageJson.version} (`);
    expect(help.stdout).toMatch(/^Usage: fleetgc <verb>/);
  });

  test('runs as a user without privileges, who owns nothing of the program', async () => {
    const { stdout: user } = await inImage('id', '-u');
    const { stdout: writable } = await inImage('find', '/opt/fleetgc', '-writable', '-not', '-type', 'l');

    expect(Number(user)).toBeGreaterThan(0);
    expect(writable).toBe('');
  });

  test('holds what it needs to run, and no more', async () => {
    const { stdout } = await inImage('ls', '-A', '/opt/fleetgc', '/opt/fleetgc/node_modules');

    expect(stdout.trim().split(/\s+/)).toEqual([
      '/opt/fleetgc:',
      ...['LICENSE', 'bin', 'dist', 'node_modules'],
      '/opt/fleetgc/node_modules:',
      '.cache',
    ]);
  });

  test.each([
    ['decide', 'node'],
    ['node', 'root'],
  ])('%s as %s starts with files that were compiled when the image was built', async (verb, user) => {
    const told = [
      ...SHUT_IN,
      '--env',
      'NODE_DEBUG_NATIVE=COMPILE_CACHE',
      '--user',
      user,
      '--entrypoint',
      'sh',
    ];
    const command = `bin/fleetgc ${verb} --help 2>&1 >/dev/null`;
    const { stdout } = await docker('run', '--rm', ...told, SERVICE_IMAGE, '-c', command);

    const readings = stdout.split('\n').filter((line) => /reading cache .*opt\/fleetgc\/dist/.test(line));
    expect(readings.length).toBeGreaterThan(10);
    expect(readings.filter((line) => !line.includes('success'))).toEqual([]);
  });
});

describe.concurrent('a decision service whose broker is away', () => {
  let network: TestNetwork;
  beforeAll(async () => {
    network = await createNetwork();
  });
  afterAll(() => network[Symbol.asyncDispose]());

  test.each(DECIDERS)('%s is alive, says why it is not ready, and ends with 0 when told to', async (verb) => {
    await using service = await startService({ network, command: [verb], environment: NO_BROKER });

    const { status, text } = await readiness(service);
    expect((await fetch(`http://${service.httpAddress}/livez`)).status).toBe(200);
    expect(status).toBe(503);
    expect(text).toMatch(
      /^\[-\] event log: Kafka at 127\.0\.0\.1:9: .*ECONNREFUSED.* Check that the brokers run/m,
    );

    expect(await stopped(service)).toBe(0);
    expect(await service.output()).toMatch(/"level":"warn".*ECONNREFUSED/);
  });
});

/** Once the first attempt to reach the broker has failed. */
function readiness({ httpAddress }: Service): Promise<{ status: number; text: string }> {
  return waitUntil('/readyz to name the broker', DOCKER_MS, async () => {
    const answer = await fetch(`http://${httpAddress}/readyz?verbose`);
    const text = await answer.text();
    return text.includes('ECONNREFUSED') && { status: answer.status, text };
  });
}

/** Its exit code after SIGTERM: another one than 0 where it had to be ended. */
async function stopped(service: Service): Promise<number> {
  await service.stop();
  const { stdout } = await docker('inspect', '--format', '{{.State.ExitCode}}', service.containerId);
  return Number(stdout);
}

describe.concurrent('the health check', () => {
  test.each([
    { name: 'on the address of the image', environment: {} },
    { name: 'on all addresses', environment: { FLEETGC_HTTP_ADDRESS: '0.0.0.0:9700' } },
  ])('finds the service $name', async ({ environment }) => {
    const variables = Object.entries({ ...NO_BROKER, ...environment }).flatMap(([key, value]) => [
      '--env',
      `${key}=${value}`,
    ]);
    const quick = ['--health-interval', '500ms', '--health-start-period', '0s'];
    const labels = Object.entries(testLabels()).flatMap(([key, value]) => ['--label', `${key}=${value}`]);
    const { stdout } = await docker(
      'run',
      '--detach',
      ...labels,
      ...SHUT_IN,
      ...quick,
      ...variables,
      SERVICE_IMAGE,
      'image-gc',
    );
    const id = stdout.trim();
    try {
      await waitUntil('Docker to call it healthy', DOCKER_MS, async () => {
        const health = await docker('inspect', '--format', '{{.State.Health.Status}}', id);
        return health.stdout.trim() === 'healthy';
      });
    } finally {
      await docker('rm', '--force', id);
    }
  });
});
