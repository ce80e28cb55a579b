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
  components: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      purl: z.string().startsWith('pkg:npm/'),
      hashes: z.array(z.object({ alg: z.literal('SHA-512'), content: z.string().length(128) })).length(1),
      licenses: z.array(z.unknown()).min(1),
    }),
  ),
});

const text = await billOfMaterials(REPOSITORY);
const bill = Bill.parse(JSON.parse(text));

test('the bill of materials names every package of production in the lockfile, and no other', () => {
  const { packages } = Lockfile.parse(
    JSON.parse(readFileSync(join(REPOSITORY, 'package-lock.json'), 'utf8')),
  );
  const shipped = Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && !dev)
    .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')} ${version}`);
  const named = bill.components.map(({ name, version }) => `${name} ${version}`);

  expect(named.toSorted()).toEqual([...new Set(shipped)].toSorted());
  expect(Object.keys(packageJson.dependencies).length).toBeGreaterThan(0);
  for (const direct of Object.keys(packageJson.dependencies))
    expect(bill.components.map(({ name }) => name)).toContain(direct);
});

test('it is the bill of this program in this version', () => {
  expect(bill.metadata.component.purl).toBe(`pkg:npm/${packageJson.name}@${packageJson.version}`);
});

test('the same sources make the same bill', async () => {
  expect(await billOfMaterials(REPOSITORY)).toBe(text);
});
