import { chmodSync, globSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** What is built may be read by every user of the machine, whatever the umask: units and containers run as users of their own. */
export function makeReadable(directory: string): void {
  for (const path of [
    directory,
    ...globSync('**/*', { cwd: directory }).map((name) => join(directory, name)),
  ])
    chmodSync(path, statSync(path).isDirectory() ? 0o755 : 0o644);
}
