import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { type ProductionPackage, productionLockfile, productionPackages } from './lockfile.ts';
import { RUNTIME } from './node-advisories.ts';

const BOUND_MS = 60_000;
const MAX_BYTES = 64 * 1024 * 1024;
const ARGUMENTS = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];

const Manifest = z.looseObject({ name: z.string() });
const Component = z.looseObject({ 'bom-ref': z.string(), purl: z.string() });
const Dependency = z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()).default([]) });
const Bill = z.looseObject({
  metadata: z.looseObject({}),
  components: z.array(Component),
  dependencies: z.array(Dependency),
});
type Bill = z.infer<typeof Bill>;

/**
 * The CycloneDX bill of materials of what is shipped, as npm makes it of the lockfile. npm's `--omit=dev` leaves out whatever
 * something of development needs too, so npm gets a lockfile without development in it. The number and the time
 * that npm gives each bill are left out: the same sources make the same bytes. npm calls a Node.js in a package by the name of the
 * package, which no scanner knows, so each is named as Node.js too.
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
    const { stdout } = await promisify(execFile)('npm', ARGUMENTS, options);
    const bill = withRuntimes(withoutChance(Bill.parse(JSON.parse(stdout))), productionPackages(repository));
    return `${JSON.stringify(bill, null, 2)}\n`;
  } finally {
    rmSync(above, { recursive: true, force: true });
  }
}

function withoutChance({ serialNumber: _number, ...bill }: Bill): Bill {
  const { timestamp: _at, ...metadata } = bill.metadata;
  return { ...bill, metadata };
}

/** With each Node.js that a package brings, under the names by which scanners look for advisories, and where it is used. */
function withRuntimes(bill: Bill, packages: readonly ProductionPackage[]): Bill {
  const runtimes = packages.flatMap(({ name, version }) => {
    const platform = RUNTIME.exec(name)?.[1];
    if (platform === undefined) return [];
    const brought = bill.components.find(({ purl }) => purl === `pkg:npm/${name}@${version}`);
    if (brought === undefined) throw new Error(`the bill of materials lacks ${name} ${version}`);
    return [{ version, platform, ref: `node@${version}-${platform}`, by: brought['bom-ref'] }];
  });
  return {
    ...bill,
    components: [
      ...bill.components,
      ...runtimes.map(({ version, platform, ref }) => ({
        'bom-ref': ref,
        type: 'application',
        name: 'node',
        version,
        description: `Node.js for ${platform}`,
        purl: `pkg:generic/node@${version}`,
        cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
        licenses: [{ license: { id: 'MIT' } }],
      })),
    ],
    dependencies: [
      ...bill.dependencies.map((each) => {
        const within = runtimes.find(({ by }) => by === each.ref);
        return within === undefined ? each : { ...each, dependsOn: [...each.dependsOn, within.ref] };
      }),
      ...runtimes.map(({ ref }) => ({ ref, dependsOn: [] })),
    ],
  };
}
