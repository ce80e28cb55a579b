import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from './cache.ts';
import { type CommandResult, run } from './command.ts';
import { MINIMUM_GO } from './versions.ts';

const GO_MS = 1_200_000;
/** A fifth less to compile than by default, and the same programs: no tables for debuggers, and fewer collections in a compiler that ends soon. */
const COMPILER = { GOFLAGS: '-buildvcs=false -gcflags=all=-dwarf=false', GOGC: '400' };

/** A kind of machine, as Node.js calls it. */
export type Architecture = 'x64' | 'arm64';
const GO_ARCHITECTURES: Readonly<Record<Architecture, string>> = { x64: 'amd64', arm64: 'arm64' };

/** Runs `go` in the folder of the module that is being built. Rejects after 20 min. */
export type Go = (...args: readonly string[]) => Promise<CommandResult>;

/**
 * Builds programs from Go modules into `folder`: `compile` gets a module of its own in `work` and puts them into its
 * `bin`. The folder appears only when all is done, so that a build that was cut off is begun anew. `architecture`: for which machine,
 * when not for this one.
 */
export async function buildGoPrograms(
  name: string,
  folder: string,
  compile: (go: Go, work: string) => Promise<unknown>,
  architecture: Architecture | null = null,
): Promise<void> {
  await requireGo(name);
  const work = mkdtempSync(join(cacheDirectory('build'), `${name}-`));
  const target = architecture === null ? {} : { GOARCH: GO_ARCHITECTURES[architecture] };
  const env = { CGO_ENABLED: '0', ...COMPILER, GOWORK: 'off', GOTOOLCHAIN: 'local', ...target };
  const go: Go = (...args) => run('go', args, { cwd: work, env, usualMs: GO_MS });
  try {
    await go('mod', 'init', `fleetgc.test/${name}`);
    await compile(go, work);
    renameSync(join(work, 'bin'), folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function requireGo(name: string): Promise<void> {
  const found = await run('go', ['env', 'GOVERSION'], { usualMs: 30_000 }).then(
    ({ stdout }) => stdout.trim(),
    () => 'none',
  );
  if (isRecentEnough(found)) return;
  throw new Error(
    `the container suites build ${name} and need Go ${MINIMUM_GO} or newer; found: ${found}. Install it from https://go.dev/dl/`,
  );
}

/** By what `go env GOVERSION` prints: `go1.26.8`, or `go1.27rc1`. */
export function isRecentEnough(version: string): boolean {
  const [, found = '0'] = /^go([0-9.]+)/.exec(version) ?? [];
  return found.localeCompare(MINIMUM_GO, 'en', { numeric: true }) >= 0;
}
