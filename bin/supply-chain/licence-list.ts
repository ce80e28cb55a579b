import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { licenceOf } from './licences.ts';
import { type ProductionPackage, productionPackages } from './lockfile.ts';

/** Files that a licence may ask to be passed on. */
const TEXTS = /^(licen[cs]e|copying|notice|copyright)([.-].*)?$/i;
const RULE = '-'.repeat(80);

/**
 * Whose work is shipped with FleetGC, under which licence, and the texts of these licences. Of what is for one platform only
 * the name of the licence stands here: its package brings the text. So the same sources make the same list.
 */
export function licenceList(repository: string): string {
  const packages = productionPackages(repository);
  return [
    'FleetGC is under the licence in its file LICENSE. It is shipped with the work of others:',
    '',
    ...packages.map((each) => `${titleOf(each)}: ${String(licenceOf(repository, each))}`),
    ...packages.filter(({ isOptional }) => !isOptional).flatMap((each) => sectionOf(repository, each)),
    '',
  ].join('\n');
}

const titleOf = ({ name, version }: ProductionPackage): string => `${name} ${version}`;

function sectionOf(repository: string, each: ProductionPackage): readonly string[] {
  const folder = join(repository, each.path);
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => TEXTS.test(file)) : [];
  return files
    .toSorted()
    .flatMap((file) => ['', RULE, `${titleOf(each)}, ${file}`, RULE, '', readText(join(folder, file))]);
}

const readText = (path: string): string => readFileSync(path, 'utf8').replaceAll('\r\n', '\n').trim();
