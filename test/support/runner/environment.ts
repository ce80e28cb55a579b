import { statfsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** What the shell may tell the tests: where things are and how to reach the network. Everything else is ours. */
const PASSED_ON =
  /^(HOME|USER|LOGNAME|TMPDIR|XDG_(CACHE|CONFIG|RUNTIME)_.*|DOCKER_.*|GO(ROOT|PATH|PROXY|SUMDB|NOSUMDB|PRIVATE|CACHE|MODCACHE)|.*_(CERTS?|CA_BUNDLE)|SSL_CERT_.*|(HTTPS?|NO|ALL)_PROXY)$/i;

/** The environment of every suite, the same whatever shell the run was started from. */
export function suiteEnvironment(
  shell: Readonly<Record<string, string | undefined>>,
  repository: string,
): Record<string, string> {
  const passedOn = Object.fromEntries(
    Object.entries(shell).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && PASSED_ON.test(entry[0]),
    ),
  );
  return {
    ...passedOn,
    PATH: [join(repository, 'node_modules', '.bin'), shell.PATH ?? ''].join(delimiter),
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    // As bin/fleetgc keeps it: a quarter of the time of tests that start processes is the compiling of the same files.
    NODE_COMPILE_CACHE: join(repository, 'node_modules', '.cache', 'fleetgc', 'compiled'),
    ...temporaryFiles(passedOn.TMPDIR),
    NO_COLOR: '1',
    CI: 'true',
    FLEETGC_TEST_OWNER: String(process.pid),
  };
}

const MEMORY = '/dev/shm';
const MEMORY_BYTES = 2 * 1024 ** 3;

/**
 * In memory where there is enough of it: event logs and state directories are written with `fsync`, and waiting for a
 * disk shows nothing about them.
 */
function temporaryFiles(directory: string | undefined): { readonly TMPDIR?: string } {
  if (directory !== undefined) return { TMPDIR: directory };
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= MEMORY_BYTES ? { TMPDIR: MEMORY } : {};
  } catch {
    return {};
  }
}
