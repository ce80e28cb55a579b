import { canInstall, install } from './apt.ts';
import { succeeds } from './command.ts';

const QUICK_MS = 30_000;

/** The words that run Docker Compose here, whichever of its two forms is installed; installed if there is none. */
export async function ensureCompose(): Promise<readonly string[]> {
  const found = await findCompose();
  if (found !== null) return found;
  if (!canInstall()) {
    throw new Error(
      'docker-compose.yml is tested too: install the compose plugin of Docker (docker-compose-plugin)',
    );
  }
  await install(['docker-compose']);
  const installed = await findCompose();
  if (installed === null) throw new Error('the package docker-compose brought no docker-compose that runs');
  return installed;
}

async function findCompose(): Promise<readonly string[] | null> {
  if (await succeeds('docker', ['compose', 'version'], QUICK_MS)) return ['docker', 'compose'];
  if (await succeeds('docker-compose', ['version'], QUICK_MS)) return ['docker-compose'];
  return null;
}
