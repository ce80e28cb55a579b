import { spawn } from 'node:child_process';
import { existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { canInstall, install } from './apt.ts';
import { cacheDirectory } from './cache.ts';
import { run, succeeds } from './command.ts';
import { withLock } from './lock.ts';
import { step } from './progress.ts';

const ENGINE_PACKAGES = ['docker.io', 'containerd', 'runc', 'iptables', 'ca-certificates'];
const QUICK_MS = 15_000;
const START_MS = 60_000;
const ENGINE_LOCK_MS = 900_000;

/** Makes sure that a Docker Engine answers: found, or installed and started, or one clear error. */
export async function ensureDocker(): Promise<void> {
  if (await answers()) return;
  await withLock('docker', ENGINE_LOCK_MS, async () => {
    if (await answers()) return;
    if (!canInstall()) throw new Error(await whatToInstall());
    if (!(await installed('dockerd')) || !(await installed('docker'))) await install(ENGINE_PACKAGES);
    await step('starting the Docker Engine', startEngine);
  });
}

async function startEngine(): Promise<void> {
  if (await answers()) return;
  const log = join(cacheDirectory('logs'), 'dockerd.log');
  if (existsSync('/run/systemd/system')) {
    await run('systemctl', ['start', 'docker'], { usualMs: START_MS });
  } else {
    const out = openSync(log, 'a');
    spawn('dockerd', [], { detached: true, stdio: ['ignore', out, out], cwd: '/' }).unref();
  }
  const deadline = performance.now() + START_MS;
  while (!(await answers())) {
    if (performance.now() > deadline) {
      throw new Error(
        `the Docker Engine did not answer within ${START_MS / 1000} s of its start; see ${log}`,
      );
    }
    await sleep(200);
  }
}

function answers(): Promise<boolean> {
  return succeeds('docker', ['version', '--format', '{{.Server.Version}}'], QUICK_MS);
}

function installed(program: string): Promise<boolean> {
  return succeeds(program, ['--version'], QUICK_MS);
}

async function whatToInstall(): Promise<string> {
  if (!(await installed('docker'))) {
    return 'the container suites need a Docker Engine: install one (https://docs.docker.com/engine/install/), or run as root on Debian or Ubuntu, where it is installed for you';
  }
  const cause = await run('docker', ['version'], { usualMs: QUICK_MS }).then(
    () => '',
    (error: Error) => error.message,
  );
  return `Docker is installed, but its engine does not answer this user: start it, and add the user to the group 'docker'.\n${cause}`;
}
