import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { billOfMaterials } from '../../../bin/supply-chain/bill-of-materials.ts';
import packageJson from '../../../package.json' with { type: 'json' };

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');
const Lockfile = z.object({
  packages: z.record(z.string(), z.object({ version: z.string(), dev: z.boolean().optional() })),
});
const Bill = z.object({
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.string().regex(/^1\.[5-9]$/),
  version: z.literal(1),
  metadata: z.object({ component: z.object({ type: z.literal('application'), purl: z.string() }) }),
  components: z.array(z.looseObject({ purl: z.string() })),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
});
const Package = z.object({
  name: z.string(),
  version: z.string(),
  hashes: z.array(z.object({ alg: z.literal('SHA-512'), content: z.string().length(128) })).length(1),
  licenses: z.array(z.unknown()).min(1),
});
const Runtime = z.object({
  'bom-ref': z.string(),
  type: z.literal('application'),
  name: z.literal('node'),
  version: z.string(),
  cpe: z.string(),
  licenses: z.array(z.unknown()).min(1),
});

const text = await billOfMaterials(REPOSITORY);
const bill = Bill.parse(JSON.parse(text));
const packages = bill.components
  .filter(({ purl }) => purl.startsWith('pkg:npm/'))
  .map((each) => Package.parse(each));
const others = bill.components.filter(({ purl }) => !purl.startsWith('pkg:npm/'));

test('the bill of materials names every package of production in the lockfile, and no other', () => {
  const locked = Lockfile.parse(JSON.parse(readFileSync(join(REPOSITORY, 'package-lock.json'), 'utf8')));
  const shipped = Object.entries(locked.packages)
    .filter(([path, { dev }]) => path !== '' && !dev)
    .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')} ${version}`);
  const named = packages.map(({ name, version }) => `${name} ${version}`);

  expect(named.toSorted()).toEqual([...new Set(shipped)].toSorted());
  expect(Object.keys(packageJson.dependencies).length).toBeGreaterThan(0);
  for (const direct of Object.keys(packageJson.dependencies))
    expect(packages.map(({ name }) => name)).toContain(direct);
});

test('scanners find each Node.js that is shipped under its own name, and what brings it', () => {
  const shipped = Object.entries(packageJson.optionalDependencies).filter(([name]) =>
    name.startsWith('node-'),
  );
  expect(shipped).toHaveLength(2);
  expect(others.map(({ purl }) => purl)).toEqual(shipped.map(([, version]) => `pkg:generic/node@${version}`));
  for (const [index, [name, version]] of shipped.entries()) {
    const runtime = Runtime.parse(others[index]);
    expect(runtime).toMatchObject({ version, cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*` });
    expect(bill.dependencies).toContainEqual({ ref: `${name}@${version}`, dependsOn: [runtime['bom-ref']] });
    expect(bill.dependencies).toContainEqual({ ref: runtime['bom-ref'], dependsOn: [] });
  }
});

test('it is the bill of this program in this version', () => {
  expect(bill.metadata.component.purl).toBe(`pkg:npm/${packageJson.name}@${packageJson.version}`);
});

test('the same sources make the same bill', async () => {
  expect(await billOfMaterials(REPOSITORY)).toBe(text);
});
