/**
 * `npm run supply-chain`: licences of what is shipped, what a registry knows against it, and what our own list knows against the
 * Node.js that is shipped. With `--node-bytes` also whether
 * the Node.js that is installed with it is the one that its project publishes, which downloads 50 MB.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Advisories, askAdvisories } from './advisories.ts';
import { licenceProblems } from './licences.ts';
import { type ProductionPackage, productionPackages } from './lockfile.ts';
import { judgeRuntimes, RUNTIME, readNodeAdvisories, shippedRuntimes } from './node-advisories.ts';
import { compareNodeBytes } from './node-bytes.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..');

const say = (line: string): boolean => process.stdout.write(`${line}\n`);

function advisoryProblems(advisories: Advisories): readonly string[] {
  if (advisories.kind === 'found')
    return advisories.packages.map((each) => `There is an advisory against ${each}: see npm audit.`);
  say(`advisories: not asked, since no registry answered (${advisories.reason})`);
  return [];
}

/** The Node.js of this platform; the others are not installed. */
async function nodeProblems(packages: readonly ProductionPackage[]): Promise<readonly string[]> {
  const installed = packages.flatMap(({ name, version, path }) => {
    const platform = RUNTIME.exec(name)?.[1];
    const program = join(REPOSITORY, path, 'bin', 'node');
    return platform !== undefined && existsSync(program) ? [{ path: program, version, platform }] : [];
  });
  const compared = await Promise.all(installed.map((node) => compareNodeBytes(node)));
  for (const each of compared)
    if (each.kind === 'not-compared') say(`Node.js: its bytes were not compared (${each.reason})`);
  return compared.flatMap((each) => (each.kind === 'different' ? [each.problem] : []));
}

/** What the list says of every Node.js that is shipped. The day of what is released is that of its commit. */
function runtimeProblems(packages: readonly ProductionPackage[]): readonly string[] {
  const runtimes = shippedRuntimes(REPOSITORY, packages);
  const { problems, notes } = judgeRuntimes(runtimes, readNodeAdvisories(REPOSITORY), committedOn());
  for (const note of notes) say(note);
  return problems;
}

/** `null` outside of a repository, such as in an unpacked archive of the sources. */
function committedOn(): string | null {
  if (!existsSync(join(REPOSITORY, '.git'))) return null;
  return execFileSync('git', ['log', '-1', '--format=%cs'], { cwd: REPOSITORY, encoding: 'utf8' }).trim();
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { 'node-bytes': { type: 'boolean' } } });
  const packages = productionPackages(REPOSITORY);
  const licences = licenceProblems(REPOSITORY, packages);
  const advisories = advisoryProblems(await askAdvisories(REPOSITORY, process.env));
  const runtimes = runtimeProblems(packages);
  const bytes = values['node-bytes'] ? await nodeProblems(packages) : [];
  const problems = [...licences, ...advisories, ...runtimes, ...bytes];
  for (const problem of problems) say(problem);
  say(`${packages.length} packages are shipped, ${problems.length} problems`);
  if (problems.length > 0) process.exitCode = 1;
}

await main();
