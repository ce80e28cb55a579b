import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { ProductionPackage } from './lockfile.ts';

/**
 * What may be shipped with software under Apache-2.0. An expression such as `(MIT OR GPL-3.0)` is none of these: somebody
 * reads it once, and adds it here as it is. That is why no library that parses such expressions is used.
 */
const ALLOWED: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Python-2.0',
  'Unlicense',
]);

const Manifest = z.looseObject({ version: z.string(), license: z.unknown().optional() });

/** A sentence for each package whose licence is not allowed, or not known. */
export const licenceProblems = (
  repository: string,
  packages: readonly ProductionPackage[],
): readonly string[] => packages.flatMap((each) => problemOf(each, licenceOf(repository, each)));

/** What the package itself says; the lockfile's word holds for what is not installed on this platform. */
export function licenceOf(
  repository: string,
  { path, version, licence, isOptional }: ProductionPackage,
): unknown {
  try {
    const manifest = Manifest.parse(JSON.parse(readFileSync(join(repository, path, 'package.json'), 'utf8')));
    return manifest.version === version ? manifest.license : licence;
  } catch (error) {
    if (isOptional && error instanceof Error && 'code' in error && error.code === 'ENOENT') return licence;
    throw error;
  }
}

function problemOf({ name, version }: ProductionPackage, licence: unknown): readonly string[] {
  if (typeof licence === 'string' && ALLOWED.has(licence)) return [];
  const says = licence == null ? 'names no licence' : `is under ${JSON.stringify(licence)}`;
  return [
    `${name} ${version} ${says}, which is not on the list of bin/supply-chain/licences.ts: read its licence, then add it there or do without the package.`,
  ];
}
