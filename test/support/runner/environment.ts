import { delimiter, join } from 'node:path';

/** What the shell may tell the tests: where things are and how to reach the network. Everything else is ours. */
const PASSED_ON =
  /^(HOME|USER|LOGNAME|TMPDIR|XDG_(CACHE|CONFIG|RUNTIME)_.*|DOCKER_.*|GO(ROOT|PATH|PROXY|SUMDB|NOSUMDB|PRIVATE|CACHE|MODCACHE)|.*_(CERTS?|CA_BUNDLE)|SSL_CERT_.*|(HTTPS?|NO|ALL)_PROXY)$/i;

/** The environment of every suite, the same whatever shell the run was started from. */
export function suiteEnvironment(
  shell: Readonly<Record<string, string | undefined>>,
  repository: string,
): Record<string, string> {
  const passedOn = Object.entries(shell).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && PASSED_ON.test(entry[0]),
  );
  return {
    ...Object.fromEntries(passedOn),
    PATH: [join(repository, 'node_modules', '.bin'), shell.PATH ?? ''].join(delimiter),
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    NO_COLOR: '1',
    CI: 'true',
    FLEETGC_TEST_OWNER: String(process.pid),
  };
}
