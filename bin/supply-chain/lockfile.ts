import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const Locked = z.looseObject({
  version: z.string(),
  license: z.string().optional(),
  dev: z.boolean().default(false),
  optional: z.boolean().default(false),
});
const Lockfile = z.looseObject({
  packages: z.looseObject({ '': z.looseObject({}) }).catchall(z.unknown()),
});

/** A package that is shipped: a dependency, or one that a dependency brings, for whatever platform. */
export interface ProductionPackage {
  /** Where it is installed, e.g. `node_modules/cliui/node_modules/ansi-regex`. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  /** As the lockfile has it; `null` when it says nothing. */
  readonly licence: string | null;
  /** May be missing from `node_modules`, such as what is for another platform. */
  readonly isOptional: boolean;
}

const INSTALLED = 'node_modules/';

export function productionPackages(repository: string): readonly ProductionPackage[] {
  const { '': _root, ...packages } = readLockfile(repository).packages;
  return Object.entries(packages).flatMap(([path, entry]) => {
    const { version, license, dev, optional } = Locked.parse(entry);
    const name = path.slice(path.lastIndexOf(INSTALLED) + INSTALLED.length);
    return dev ? [] : [{ path, name, version, licence: license ?? null, isOptional: optional }];
  });
}

/** The lockfile as it would be if nothing were needed for development. */
export function productionLockfile(repository: string): unknown {
  const { packages, ...lockfile } = readLockfile(repository);
  const { devDependencies: _tools, ...root } = packages[''];
  const shipped = new Set(productionPackages(repository).map(({ path }) => path));
  const kept = Object.entries(packages).filter(([path]) => shipped.has(path));
  return { ...lockfile, packages: { '': root, ...Object.fromEntries(kept) } };
}

const readLockfile = (repository: string): z.infer<typeof Lockfile> =>
  Lockfile.parse(JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8')));
