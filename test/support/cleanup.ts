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

/** Removes the containers, networks and volumes that runs left behind whose process is gone. */
export async function sweepLeftovers(): Promise<void> {
  await sweep((ownedBy) => !isAlive(Number(ownedBy)));
}

/** Removes what this run left behind, and says what it was. */
export async function sweepOwn(): Promise<readonly string[]> {
  return await sweep((ownedBy) => ownedBy === owner());
}

/** What Docker keeps, in the order in which it can go; columns are those of the list. */
const KINDS = [
  {
    list: ['ps', '--all'],
    remove: ['rm', '--force', '--volumes'],
    id: '{{.ID}}',
    what: 'container of {{.Image}}',
  },
  { list: ['network', 'ls'], remove: ['network', 'rm'], id: '{{.ID}}', what: 'network' },
  { list: ['volume', 'ls'], remove: ['volume', 'rm'], id: '{{.Name}}', what: 'volume' },
] as const;

async function sweep(goes: (ownedBy: string) => boolean): Promise<readonly string[]> {
  const swept: string[] = [];
  for (const kind of KINDS) swept.push(...(await sweepKind(kind, goes)));
  return swept;
}

async function sweepKind(
  { list, remove, id: idColumn, what: whatColumn }: (typeof KINDS)[number],
  goes: (ownedBy: string) => boolean,
): Promise<readonly string[]> {
  const swept: string[] = [];
  const format = `${idColumn} {{.Label "${OWNER_LABEL}"}} ${whatColumn}`;
  const { stdout } = await run('docker', [...list, '--filter', `label=${TEST_LABEL}`, '--format', format], {
    usualMs: DOCKER_MS,
  });
  for (const line of stdout.split('\n').filter(Boolean)) {
    const [id = '', ownedBy = '', ...what] = line.split(' ');
    if (!goes(ownedBy)) continue;
    // Another process may be sweeping too, so that it is gone already is no failure.
    await succeeds('docker', [...remove, id], DOCKER_MS);
    swept.push(`${what.join(' ')} ${id}`);
  }
  return swept;
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
