/**
 * `npm run package`: makes the files of a release in `dist-release/`, or in the folder that `--into` names: the npm package with
 * the built program, its bill of materials (CycloneDX), the list of licences, and the SHA-256 of each. Nothing is published.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { z } from 'zod';

const REPOSITORY = join(import.meta.dirname, '..');
const RELEASE = join(REPOSITORY, 'dist-release');
const BOUND_MS = 300_000;
const run = promisify(execFile);

/** What is packed beside the built program, as it lies in the repository. */
const PACKED = [
  'bin/fleetgc',
  'bin/kubectl-fleetgc',
  'bin/kubectl_complete-fleetgc',
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'SECURITY.md',
  'docs',
  'schemas/asyncapi.json',
  'schemas/generated',
  'schemas/released',
];
/** What lies beside the package too, for whoever looks only there. */
const BESIDE = ['fleetgc.cdx.json', 'licences.txt'];
const SUMS = 'SHA256SUMS';

const Versions = z.record(z.string(), z.string());
const Manifest = z.looseObject({
  dependencies: Versions,
  optionalDependencies: Versions,
  devDependencies: z.unknown(),
  scripts: z.unknown(),
});

/** The build has all other libraries in it. */
const LEFT_OUT = /^@(duckdb|aws-sdk)\//;

/** That of the repository, without what only building needs. What the archive verbs need alone may be missing. */
function packedManifest(): unknown {
  const {
    scripts: _commands,
    devDependencies: _tools,
    dependencies,
    optionalDependencies,
    ...manifest
  } = Manifest.parse(JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')));
  const native = Object.entries(dependencies).filter(([name]) => LEFT_OUT.test(name));
  return { ...manifest, optionalDependencies: { ...optionalDependencies, ...Object.fromEntries(native) } };
}

async function packInto(release: string): Promise<void> {
  const stage = mkdtempSync(join(tmpdir(), 'fleetgc-package-'));
  try {
    for (const path of PACKED) cpSync(join(REPOSITORY, path), join(stage, path), { recursive: true });
    writeFileSync(join(stage, 'package.json'), `${JSON.stringify(packedManifest(), null, 2)}\n`);
    await run(process.execPath, [join(REPOSITORY, 'bin/build.ts'), '--into', join(stage, 'dist')], {
      timeout: BOUND_MS,
    });
    rmSync(release, { recursive: true, force: true });
    mkdirSync(release, { recursive: true });
    await run('npm', ['pack', '--pack-destination', release], { cwd: stage, timeout: BOUND_MS });
    for (const file of BESIDE) copyFileSync(join(stage, 'dist', file), join(release, file));
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

function writeSums(release: string): void {
  const lines = readdirSync(release)
    .toSorted()
    .map(
      (file) =>
        `${createHash('sha256')
          .update(readFileSync(join(release, file)))
          .digest('hex')}  ${file}\n`,
    );
  writeFileSync(join(release, SUMS), lines.join(''));
}

const { values } = parseArgs({ options: { into: { type: 'string' } } });
const release = values.into ?? RELEASE;
await packInto(release);
writeSums(release);
process.stdout.write(`${readFileSync(join(release, SUMS), 'utf8')}`);
