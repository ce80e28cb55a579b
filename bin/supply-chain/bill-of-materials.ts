import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { productionLockfile } from './lockfile.ts';

const BOUND_MS = 60_000;
const MAX_BYTES = 64 * 1024 * 1024;
const ARGUMENTS = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];

const Manifest = z.looseObject({ name: z.string() });
const Bill = z.looseObject({ metadata: z.looseObject({}) });

/**
 * The CycloneDX bill of materials of what is shipped, as npm makes it of the lockfile. npm's `--omit=dev` leaves out whatever
 * something of development needs too, so npm gets a lockfile without development in it. The number and the time
 * that npm gives each bill are left out: the same sources make the same bytes.
 */
export async function billOfMaterials(repository: string): Promise<string> {
  const above = mkdtempSync(join(tmpdir(), 'fleetgc-bill-'));
  try {
    const { devDependencies: _tools, ...manifest } = Manifest.parse(
      JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')),
    );
    // npm takes the name of the program from that of its folder.
    const folder = join(above, manifest.name);
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(productionLockfile(repository)));
    const options = { cwd: folder, timeout: BOUND_MS, maxBuffer: MAX_BYTES };
    return withoutChance((await promisify(execFile)('npm', ARGUMENTS, options)).stdout);
  } finally {
    rmSync(above, { recursive: true, force: true });
  }
}

function withoutChance(text: string): string {
  const { serialNumber: _number, ...bill } = Bill.parse(JSON.parse(text));
  const { timestamp: _at, ...metadata } = bill.metadata;
  return `${JSON.stringify({ ...bill, metadata }, null, 2)}\n`;
}
