import { run, succeeds } from './toolchain/command.ts';

const DOCKER_MS = 60_000;
const TEST_LABEL = 'fleetgc.test';
const OWNER_LABEL = 'fleetgc.test.owner';

/**
 * The process whose containers these are: the test runner's own, which its workers learn from the environment. What a
 * living process owns is never swept, so that two runs on one machine do not disturb each other.
 */
function owner(): string {
  return process.env.FLEETGC_TEST_OWNER ?? String(process.pid);
}

/** Labels of everything that a test creates in the Docker Engine. */
export function testLabels(): Record<string, string> {
  return { [TEST_LABEL]: '1', [OWNER_LABEL]: owner() };
}

/** Removes the containers and networks that an interrupted run left behind. */
export async function sweepLeftovers(): Promise<void> {
  await sweep(['ps', '--all'], ['rm', '--force', '--volumes']);
  await sweep(['network', 'ls'], ['network', 'rm']);
}

async function sweep(list: readonly string[], remove: readonly string[]): Promise<void> {
  const format = `{{.ID}} {{.Label "${OWNER_LABEL}"}}`;
  const { stdout } = await run('docker', [...list, '--filter', `label=${TEST_LABEL}`, '--format', format], {
    timeoutMs: DOCKER_MS,
  });
  for (const line of stdout.split('\n').filter(Boolean)) {
    const [id = '', ownedBy = ''] = line.split(' ');
    // Another process may be sweeping too, so that it is gone already is no failure.
    if (!isAlive(Number(ownedBy))) await succeeds('docker', [...remove, id], DOCKER_MS);
  }
}

function isAlive(pid: number): boolean {
  if (pid === process.pid || !Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
