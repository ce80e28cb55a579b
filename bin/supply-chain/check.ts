/** `npm run supply-chain`: licences of what is shipped, and what a registry knows against it. */
import { join } from 'node:path';
import { type Advisories, askAdvisories } from './advisories.ts';
import { licenceProblems } from './licences.ts';
import { productionPackages } from './lockfile.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..');

const say = (line: string): boolean => process.stdout.write(`${line}\n`);

function advisoryProblems(advisories: Advisories): readonly string[] {
  if (advisories.kind === 'found')
    return advisories.packages.map((each) => `There is an advisory against ${each}: see npm audit.`);
  say(`advisories: not asked, since no registry answered (${advisories.reason})`);
  return [];
}

async function main(): Promise<void> {
  const packages = productionPackages(REPOSITORY);
  const licences = licenceProblems(REPOSITORY, packages);
  const advisories = advisoryProblems(await askAdvisories(REPOSITORY, process.env));
  const problems = [...licences, ...advisories];
  for (const problem of problems) say(problem);
  say(`${packages.length} packages are shipped, ${problems.length} problems`);
  if (problems.length > 0) process.exitCode = 1;
}

await main();
