import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testLabels } from '../support/cleanup.ts';
import { type CommandResult, run, succeeds } from '../support/toolchain/command.ts';
import { ensureCompose } from '../support/toolchain/compose.ts';
import { ensureToolchain } from '../support/toolchain/toolchain.ts';

export const REPOSITORY = join(import.meta.dirname, '..', '..');
const COMPOSE_MS = 240_000;
const DOCKER_MS = 60_000;
/** Its image tells Docker nothing of health. */
const BROKER = 'kafka';
/** Of keys. */
const VOLUMES = ['root-key', 'roots', 'decider-key', 'operator-key'];

/** The compose example under a name and with an image of this test's own. */
export interface ComposeProject extends AsyncDisposable {
  readonly name: string;
  readonly image: string;
  compose(...args: readonly string[]): Promise<CommandResult>;
}

/** Nothing is started yet. Disposing ends what was, and removes the image. */
export async function composeProject(services: readonly string[]): Promise<ComposeProject> {
  await ensureToolchain(['kafka', 'service', 'compose']);
  const [program = '', ...words] = await ensureCompose();
  const name = `fleetgc-test-${randomUUID().slice(0, 8)}`;
  const image = `fleetgc/fleetgc:${name}`;
  const folder = mkdtempSync(join(tmpdir(), 'fleetgc-compose-'));
  const labels = labelsFile(folder, services);
  const compose = (...args: readonly string[]): Promise<CommandResult> =>
    run(program, [...words, '-p', name, '-f', 'docker-compose.yml', '-f', labels, ...args], {
      cwd: REPOSITORY,
      usualMs: COMPOSE_MS,
      env: { FLEETGC_IMAGE: image },
    });
  const dispose = async (): Promise<void> => {
    await compose('down', '--volumes', '--timeout', '50');
    await succeeds('docker', ['image', 'rm', '--no-prune', image], DOCKER_MS);
    rmSync(folder, { recursive: true, force: true });
  };
  return { name, image, compose, [Symbol.asyncDispose]: dispose };
}

/** Labels by which a later run finds what this one could not take down; and Docker asks for health sooner than the image says. */
function labelsFile(folder: string, services: readonly string[]): string {
  const path = join(folder, 'labels.json');
  const labelled = { labels: testLabels() };
  const service = { ...labelled, healthcheck: { interval: '10s' } };
  const all = Object.fromEntries(services.map((name) => [name, name === BROKER ? labelled : service]));
  const volumes = Object.fromEntries(VOLUMES.map((name) => [name, labelled]));
  writeFileSync(path, JSON.stringify({ services: all, networks: { default: labelled }, volumes }));
  return path;
}

/** What the Docker Engine has of the project, one line each. */
export async function remainsOf({ name }: ComposeProject): Promise<readonly string[]> {
  const filter = ['--filter', `label=com.docker.compose.project=${name}`];
  const lists = [
    ['ps', '--all', '--format', '{{.Names}}'],
    ['network', 'ls', '--format', '{{.Name}}'],
    ['volume', 'ls', '--format', '{{.Name}}'],
  ];
  const found = await Promise.all(
    lists.map((list) => run('docker', [...list, ...filter], { usualMs: DOCKER_MS })),
  );
  return found.flatMap(({ stdout }) => stdout.split('\n').filter(Boolean));
}
